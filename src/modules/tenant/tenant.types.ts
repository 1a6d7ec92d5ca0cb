import { z } from 'zod';
import type { TenantId } from '../../platform/ids/ids.js';
import type { ConnectionInfo } from '../../platform/mysql/connection-info.js';

const budget = z.object({
  perSecond: z.number().positive().max(1_000_000),
  burst: z.number().int().min(1).max(10_000_000),
});

/** A tenant's own settings (`im_tenants.settings`); what is missing has its default, what is unknown is left alone. */
export const tenantSettingsSchema = z.looseObject({
  /** May people register themselves (`open`), or does the operator make the accounts? */
  registration: z.enum(['open', 'closed']).default('closed'),
  /** Must who registers verify a phone by a code? */
  registrationSms: z.boolean().default(false),
  /** Country (ISO code) of phone numbers that are given without a country code. */
  phoneCountry: z
    .string()
    .regex(/^[A-Z]{2}$/)
    .default('CN'),
  /** Codes that the tenant sends a day at most, all phones together: a bound for the bill. */
  smsPerDay: z.number().int().min(0).default(10_000),
  /** Codes that one address may ask for an hour, all phones together. */
  smsPerAddressHourly: z.number().int().min(0).default(100),
  /**
   * From so many addresses with wrong log-ins of one account within 15 min on, a log-in by password from an address that
   * the account was not used from needs a verified code, too; 0 = never.
   */
  loginProofAddresses: z.number().int().min(0).max(1_000).default(20),
  /** Sessions (devices) of one user at most; a login above it ends the longest unused one. */
  sessionsPerUser: z.number().int().min(1).max(1_000).default(50),
  /** How long a sender may edit his message, seconds. */
  editWindowSeconds: z.number().int().min(0).default(86_400),
  /** How long a sender may recall his message, seconds; admins always may. */
  recallWindowSeconds: z.number().int().min(0).default(120),
  /** Budgets of a user; what is missing is as the process settings LIMIT_… say. */
  limits: z.object({ send: budget.optional(), read: budget.optional(), write: budget.optional() }).optional(),
});

export type TenantSettings = Readonly<z.infer<typeof tenantSettingsSchema>>;
export type TenantStatus = 'active' | 'disabled';

/** A tenant as this process knows it; never changed in place. */
export interface Tenant {
  readonly id: TenantId;
  /** The enterprise code. */
  readonly code: string;
  readonly name: string;
  readonly status: TenantStatus;
  readonly settings: TenantSettings;
  /** Null when its secret cannot be resolved: the tenant is known, its database cannot be opened. */
  readonly connection: ConnectionInfo | null;
}

/** Enterprise codes; compared byte for byte. */
export const TENANT_CODE = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

export interface NewTenant {
  /** Enterprise code. */
  readonly code: string;
  readonly name: string;
  /** Default: `im_<code>`. */
  readonly dbName?: string;
  readonly dbHost?: string;
  readonly dbPort?: number;
  readonly dbUser?: string;
  /** `env:NAME` of the variable that holds the password. */
  readonly dbSecretRef?: string;
  readonly settings?: object;
}

export interface TenantChange {
  readonly name?: string;
  readonly status?: TenantStatus;
  /** Settings to change, by name; null takes one away. */
  readonly settings?: Readonly<Record<string, unknown>>;
}
