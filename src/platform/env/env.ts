import { z } from 'zod';

const port = z.coerce.number().int().min(1).max(65535);
const positive = z.coerce.number().int().positive();
const rate = z.coerce.number().positive().max(1_000_000);
const flag = z.enum(['true', 'false', '1', '0']).transform((value) => value === 'true' || value === '1');
const secret = z.string().min(32, 'must be at least 32 characters; make one with: openssl rand -hex 32');

/**
 * Every process setting, its unit in its name, its default here. `.env.example` lists the same names (a spec compares them).
 * Nothing else in the product reads `process.env`.
 */
export const envSchema = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  PORT: port.default(3000),
  HOST: z.string().default('0.0.0.0'),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),

  MYSQL_URL: z.url({ protocol: /^mysql$/, error: 'must look like mysql://user:password@host:3306/im_control' }),
  MYSQL_POOL_SIZE: positive.default(8),
  MYSQL_CONNECTIONS_MAX: positive.default(400),
  MYSQL_CONNECT_TIMEOUT_MS: positive.default(2000),
  MYSQL_STATEMENT_TIMEOUT_MS: positive.default(5000),

  // Sentinel and Cluster name several hosts, which no URL parser takes.
  REDIS_URL: z
    .string()
    .regex(
      /^(rediss?:\/\/[^/\s]+|redis-(sentinel|cluster):\/\/[^/\s]+)(\/\S*)?$/,
      'must look like redis://user:password@host:6379/0, redis-sentinel://… or redis-cluster://…',
    ),
  REDIS_KEY_PREFIX: z
    .string()
    .regex(/^[a-z0-9_-]{1,20}$/, 'lower-case letters, digits, _ and - only')
    .default('im'),
  REDIS_READ_TIMEOUT_MS: positive.default(800),
  REDIS_WRITE_TIMEOUT_MS: positive.default(800),
  REDIS_DIAL_TIMEOUT_MS: positive.default(2000),
  REDIS_ALLOW_EVICTION: flag.default(false),

  MSG_PENDING_TTL_SECONDS: positive.default(120),
  MSG_DONE_TTL_SECONDS: positive.max(7 * 86400).default(86400),
  MSG_FAILED_TTL_SECONDS: positive.default(600),
  HOT_MESSAGE_TTL_SECONDS: positive.default(86400),
  HOT_MIN_MEMBERS: positive.default(200),
  PRESENCE_TTL_SECONDS: positive.default(120),
  CACHE_TTL_SECONDS: positive.default(300),
  SHORT_STATE_TTL_SECONDS: positive.default(600),
  GROUP_FANOUT_ENABLED: flag.default(true),
  HANDSHAKES_AT_ONCE: positive.default(256),
  CONFIG_REFRESH_SECONDS: positive.default(60),
  ACCESS_TOKEN_TTL_SECONDS: positive.default(3600),
  REFRESH_TOKEN_TTL_SECONDS: positive.default(30 * 86400),

  SMS_PROVIDER: z.enum(['off', 'console', 'aliyun']).default('console'),
  SMS_TIMEOUT_MS: positive.default(5000),
  SMS_ALIYUN_ENDPOINT: z.url({ protocol: /^https?$/ }).default('https://dysmsapi.aliyuncs.com'),
  SMS_ALIYUN_ACCESS_KEY_ID: z.string().default(''),
  SMS_ALIYUN_ACCESS_KEY_SECRET: z.string().default(''),
  SMS_ALIYUN_SIGN_NAME: z.string().default(''),
  SMS_ALIYUN_TEMPLATE_CODE: z.string().default(''),

  JWT_SECRET: secret,
  SECRETS_KEY: secret,
  SECRETS_KEYS_OLD: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((key) => key !== '')),
  PHONE_HASH_KEY: secret,
  ADMIN_TOKEN: secret,
  LIMIT_SEND_PER_SECOND: rate.default(50),
  LIMIT_SEND_BURST: positive.default(400),
  LIMIT_READ_PER_SECOND: rate.default(100),
  LIMIT_READ_BURST: positive.default(400),
  LIMIT_WRITE_PER_SECOND: rate.default(20),
  LIMIT_WRITE_BURST: positive.default(100),
  LIMIT_AUTH_PER_MINUTE: positive.default(120),
  LIMIT_UNAUTHENTICATED_PER_MINUTE: positive.default(600),
  LIMIT_HANDSHAKE_PER_SECOND: rate.default(100),
  LIMIT_HANDSHAKE_BURST: positive.default(5000),
  TRUSTED_PROXY_DEPTH: z.coerce.number().int().min(0).max(10).default(0),
  METRICS_TENANTS: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((id) => id !== '')),
});

export type Env = z.infer<typeof envSchema>;

/** DI token of the validated settings. */
export const ENV = Symbol('ENV');

/** What a command-line tool of the product needs: the two servers. */
export const toolEnvSchema = envSchema.pick({
  LOG_LEVEL: true,
  MYSQL_URL: true,
  MYSQL_CONNECT_TIMEOUT_MS: true,
  MYSQL_STATEMENT_TIMEOUT_MS: true,
  REDIS_URL: true,
  REDIS_KEY_PREFIX: true,
  REDIS_READ_TIMEOUT_MS: true,
  REDIS_WRITE_TIMEOUT_MS: true,
  REDIS_DIAL_TIMEOUT_MS: true,
});

export type ToolEnv = z.infer<typeof toolEnvSchema>;

/**
 * Reads and validates the settings.
 * @throws Error that lists every mistake at once by setting name; values are never shown, they may be secrets.
 */
export function loadEnv(source: NodeJS.ProcessEnv = process.env): Env {
  return read(envSchema, source);
}

/** As `loadEnv`, for a command-line tool: only MYSQL_URL and REDIS_URL have no default. */
export function loadToolEnv(source: NodeJS.ProcessEnv = process.env): ToolEnv {
  return read(toolEnvSchema, source);
}

/** A secret that a record refers to as `env:NAME`; undefined when there is none. The only kind of reference so far. */
export function resolveSecret(reference: string, source: NodeJS.ProcessEnv = process.env): string | undefined {
  const name = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(reference)?.[1];
  return name === undefined ? undefined : source[name];
}

/** Name of the person who runs a command line. */
export function operatorName(source: NodeJS.ProcessEnv = process.env): string | undefined {
  return source.TENANT_OPERATOR ?? source.USER ?? source.LOGNAME;
}

function read<S extends z.ZodType>(schema: S, source: NodeJS.ProcessEnv): z.infer<S> {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== ''));
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const name = issue.path.join('.');
    return `  ${name}: ${given[name] === undefined ? 'is missing' : issue.message}`;
  });
  throw new Error(`The settings in the environment are not usable (see .env.example):\n${lines.join('\n')}`);
}
