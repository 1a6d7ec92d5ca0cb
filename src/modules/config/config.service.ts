import { Injectable } from '@nestjs/common';
import { AppError, invalid } from '../../platform/errors/app-error.js';
import type { TenantId } from '../../platform/ids/ids.js';
import { ControlDb } from '../../platform/mysql/control-db.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { SecretBox } from '../../platform/secrets/secret-box.js';
import type { Operator } from '../../platform/http/operator.js';
import { AdminAudit, redacted } from '../audit/audit.service.js';
import { TenantService } from '../tenant/tenant.service.js';
import type { TenantSettings } from '../tenant/tenant.types.js';
import { buildConfig, EMPTY_CONFIG, parse, placeOf, type ConfigSnapshot } from './config-snapshot.js';
import * as store from './config.store.js';
import type {
  ConfigChange,
  ConfigItem,
  ConfigValue,
  DictChange,
  DictEntry,
  ThirdParty,
  ThirdPartyChange,
  ThirdPartyInfo,
  ThirdPartyKind,
} from './config.types.js';

const PLATFORM = '0';

/**
 * Configuration that lives in the process: read with the tenants before the node is ready and by every reload, never by a
 * request. Look-ups are synchronous and go on while the control database is away.
 */
@Injectable()
export class ConfigService {
  private snapshot: ConfigSnapshot = EMPTY_CONFIG;
  private problems = 0;

  constructor(
    private readonly tenants: TenantService,
    private readonly box: SecretBox,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    // In the constructor, so that the first load of the tenants loads this, too.
    tenants.also(async (source) => {
      const rows = await store.readAll(source.manager);
      return () => this.take(rows);
    });
    metrics.observed('im_config_bad_rows', 'Rows of the configuration that do not parse', () => this.problems);
  }

  /** A value of `hg_sys_config`, null when there is none. */
  getConfig(group: string, key: string): ConfigValue {
    return this.snapshot.configs.get(group)?.get(key)?.value ?? null;
  }

  /** All that is switched on, as it is in force on this node. */
  listConfigs(): ConfigItem[] {
    return [...this.snapshot.configs.values()].flatMap((group) => [...group.values()]);
  }

  /** The entries of a dictionary in their order; none when there is no such dictionary. */
  getDict(type: string): readonly DictEntry[] {
    return this.snapshot.dicts.get(type) ?? [];
  }

  /** All dictionaries by their type. */
  listDicts(): ReadonlyMap<string, readonly DictEntry[]> {
    return this.snapshot.dicts;
  }

  /** A tenant's settings, its defaults filled in. @throws AppError TENANT_UNKNOWN, TENANT_DISABLED */
  getTenantConfig(tenant: TenantId): TenantSettings {
    return this.tenants.get(tenant).settings;
  }

  /** The tenant's own settings of an outside service, else those of the platform, else null. */
  getThirdParty(tenant: TenantId, kind: ThirdPartyKind): ThirdParty | null {
    const { thirdParties } = this.snapshot;
    return thirdParties.get(`${tenant}/${kind}`) ?? thirdParties.get(`${PLATFORM}/${kind}`) ?? null;
  }

  private take(rows: Parameters<typeof buildConfig>[0]): void {
    const { snapshot, problems } = buildConfig(rows, this.snapshot, (sealed, place) => this.box.open(sealed, place));
    this.snapshot = snapshot;
    this.problems = problems.length;
    for (const problem of problems) this.log.warn({ ...problem }, 'a row of the configuration does not parse');
  }
}

/** Changes of the configuration by an operator: each one audited in its own transaction, then told to all nodes. */
@Injectable()
export class ConfigChanges {
  constructor(
    private readonly control: ControlDb,
    private readonly audit: AdminAudit,
    private readonly tenants: TenantService,
    private readonly box: SecretBox,
  ) {}

  /** @throws AppError VALIDATION_FAILED when the value is not of its type */
  async setConfig(group: string, key: string, change: ConfigChange, by: Operator): Promise<void> {
    checkValue('value', change.type, change.value);
    const detail = redacted({ type: change.type, [key]: change.value }) as object;
    await this.change(by, 'config.set', `config/${group}/${key}`, detail, (tx) =>
      store.writeConfig(tx, group, key, change),
    );
  }

  /** @throws AppError NOT_FOUND */
  async removeConfig(group: string, key: string, by: Operator): Promise<void> {
    await this.change(by, 'config.remove', `config/${group}/${key}`, undefined, async (tx) => {
      if (!(await store.deleteConfig(tx, group, key))) throw new AppError('NOT_FOUND');
    });
  }

  /** @throws AppError VALIDATION_FAILED */
  async setDict(type: string, change: DictChange, by: Operator): Promise<void> {
    change.items.forEach((item, index) => checkValue(`items.${index}.value`, item.valueType, item.value));
    await this.change(by, 'dict.set', `dict/${type}`, change, (tx) => store.writeDict(tx, type, change));
  }

  /** @throws AppError NOT_FOUND */
  async removeDict(type: string, by: Operator): Promise<void> {
    await this.change(by, 'dict.remove', `dict/${type}`, undefined, async (tx) => {
      if (!(await store.deleteDict(tx, type))) throw new AppError('NOT_FOUND');
    });
  }

  /** Everything that is stored, also what is switched off; secrets by name alone. */
  async listThirdParties(): Promise<ThirdPartyInfo[]> {
    const rows = await this.readThirdParties();
    return rows.map((row) => this.infoOf(row));
  }

  /** @param tenant `0`: for all tenants without settings of their own */
  async setThirdParty(tenant: string, kind: ThirdPartyKind, change: ThirdPartyChange, by: Operator): Promise<void> {
    if (tenant !== PLATFORM && !this.tenants.list().some((one) => one.id === tenant)) {
      throw new AppError('TENANT_UNKNOWN', { message: `There is no tenant ${tenant}.` });
    }
    const { settings, secrets, enabled } = change;
    const sealed = secrets && this.box.seal(JSON.stringify(secrets), placeOf(tenant, kind));
    const detail = { settings, enabled, changed: Object.keys(secrets ?? {}) };
    const row = { tenant, kind, enabled, settings: JSON.stringify(settings), secrets: sealed };
    await this.change(by, 'third_party.set', placeOf(tenant, kind), detail, (tx) => store.writeThirdParty(tx, row));
  }

  /** @throws AppError NOT_FOUND */
  async removeThirdParty(tenant: string, kind: ThirdPartyKind, by: Operator): Promise<void> {
    await this.change(by, 'third_party.remove', placeOf(tenant, kind), undefined, async (tx) => {
      if (!(await store.deleteThirdParty(tx, tenant, kind))) throw new AppError('NOT_FOUND');
    });
  }

  /**
   * Seals everything by the present key that was sealed by an older one.
   * @returns how many rows that were
   */
  async reseal(by: Operator): Promise<number> {
    const rows = (await this.readThirdParties()).filter(
      (row) => row.secrets !== null && this.infoOf(row).keyId !== this.box.keyId,
    );
    const detail = { rows: rows.length, keyId: this.box.keyId };
    await this.change(by, 'secrets.reseal', 'third-party', detail, async (tx) => {
      for (const row of rows) {
        const place = placeOf(row.tenant, row.kind);
        await store.resealThirdParty(tx, row, this.box.seal(this.box.open(row.secrets!, place), place));
      }
    });
    return rows.length;
  }

  private readThirdParties(): Promise<store.ThirdPartyRow[]> {
    return this.control.run(({ manager }) => store.readThirdParties(manager));
  }

  private async change(
    by: Operator,
    action: string,
    target: string,
    detail: object | undefined,
    write: (tx: Parameters<typeof store.writeDict>[0]) => Promise<void>,
  ): Promise<void> {
    await this.control.run((source) =>
      source.transaction(async (tx) => {
        await write(tx);
        await this.audit.record(tx, by, { action, target, detail });
      }),
    );
    await this.tenants.announce();
  }

  private infoOf(row: store.ThirdPartyRow): ThirdPartyInfo {
    const settings = readable(() => redacted(JSON.parse(row.settings)) as object) ?? {};
    const names = readable(() =>
      Object.keys(JSON.parse(this.box.open(row.secrets!, placeOf(row.tenant, row.kind))) as object),
    );
    return {
      tenantId: row.tenant,
      kind: row.kind,
      enabled: row.enabled === 1,
      settings,
      secretNames: names ?? [],
      keyId: row.secrets?.split('.')[1] ?? null,
    };
  }
}

function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function checkValue(field: string, type: string, value: string): void {
  try {
    parse(type, value);
  } catch (error) {
    throw invalid(field, (error as Error).message);
  }
}
