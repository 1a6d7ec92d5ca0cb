'use strict';
const { createHmac } = require('node:crypto');

/** Secrets of a bench's private deployment. */
const secrets = {
  JWT_SECRET: 'j'.repeat(40),
  SECRETS_KEY: 's'.repeat(40),
  PHONE_HASH_KEY: 'p'.repeat(40),
  ADMIN_TOKEN: 'a'.repeat(40),
};

/** A few users of a bench do what thousands do: what one user may do would be measured instead of what a node can. */
const limits = Object.fromEntries(
  ['SEND', 'READ', 'WRITE', 'HANDSHAKE'].flatMap((name) => [
    [`LIMIT_${name}_PER_SECOND`, '1000000'],
    [`LIMIT_${name}_BURST`, '10000000'],
  ]),
);

/** The environment of a node, as a process would get it. */
function nodeEnvironment({ mysql, redis, port, logLevel = 'error' }) {
  return {
    NODE_ENV: 'production',
    LOG_LEVEL: logLevel,
    HOST: '127.0.0.1',
    PORT: String(port),
    MYSQL_URL: `${mysql.url}im_control`,
    REDIS_URL: redis.url,
    REDIS_KEY_PREFIX: 'bench',
    ACCESS_TOKEN_TTL_SECONDS: '86400',
    ...secrets,
    ...limits,
  };
}

/**
 * Makes the control database and one tenant.
 * @returns {Promise<{ id: string, database: string }>}
 */
async function createTenant(bench, environment) {
  const { TenantProvisioning } = bench.product('modules/tenant/tenant.provisioning');
  const { loadEnv } = bench.product('platform/env/env');
  const { schemas } = bench.product('schema');
  const provisioning = await TenantProvisioning.open(loadEnv(environment), schemas);
  try {
    const database = 'im_bench';
    const id = await provisioning.create({ code: 'bench', name: 'Bench', dbName: database });
    return { id, database };
  } finally {
    await provisioning.close();
  }
}

/** Statements of a bench itself, on a connection of its own. */
class Sql {
  constructor(mysql, database) {
    const { host, port, user, password } = mysql;
    this.connection = require('mysql2').createConnection({ host, port, user, password, database, timezone: 'Z' });
  }

  query(sql, values = []) {
    return new Promise((resolve, reject) => {
      this.connection.query(sql, values, (error, rows) => (error ? reject(error) : resolve(rows)));
    });
  }

  /** A multi-row INSERT, in parts of a thousand. */
  async insert(table, columns, rows) {
    for (let first = 0; first < rows.length; first += 1000) {
      await this.query(`INSERT INTO ${table} (${columns}) VALUES ?`, [rows.slice(first, first + 1000)]);
    }
  }

  close() {
    return new Promise((resolve) => this.connection.end(() => resolve()));
  }
}

/** Users with the ids 1 to `count`, each with one session of the same id. */
async function insertUsers(sql, count) {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  await sql.insert(
    'im_users',
    'id, account, nickname',
    ids.map((id) => [id, `user-${id}`, `User ${id}`]),
  );
  await sql.insert(
    'im_sessions',
    'id, uid',
    ids.map((id) => [id, id]),
  );
}

/** A group whose first member owns it. @returns its topic */
async function insertGroup(sql, groupId, uids) {
  await sql.query('INSERT INTO im_groups (id, name, owner_uid, member_count) VALUES (?, ?, ?, ?)', [
    groupId,
    `Group ${groupId}`,
    uids[0],
    uids.length,
  ]);
  await sql.query('INSERT INTO im_group_settings (group_id) VALUES (?)', [groupId]);
  const topic = `grp_${groupId}`;
  await sql.query('INSERT INTO im_topic_seq (topic) VALUES (?)', [topic]);
  const rows = uids.map((uid, index) => [groupId, uid, index === 0 ? 'owner' : 'member']);
  await sql.insert('im_group_members', 'group_id, uid, role', rows);
  return topic;
}

const base64url = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** An access token as a login would give it to the user with this id and session. */
function signToken(tenant, uid) {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const claims = {
    t: tenant,
    sid: String(uid),
    sub: String(uid),
    iss: 'trident-im',
    aud: 'trident-im/access',
    iat: nowSeconds,
    exp: nowSeconds + 86_400,
  };
  const signed = `${base64url({ alg: 'HS256', typ: 'JWT' })}.${base64url(claims)}`;
  return `${signed}.${createHmac('sha256', secrets.JWT_SECRET).update(signed).digest('base64url')}`;
}

module.exports = { nodeEnvironment, createTenant, Sql, insertUsers, insertGroup, signToken };
