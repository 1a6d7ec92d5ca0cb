import { ACCOUNTS, ENTERPRISES, type DemoTenant } from './demo-plan.js';
import { tenantConnection } from '../modules/tenant/tenant-snapshot.js';
import type { TenantEntity } from '../modules/tenant/tenant.entity.js';
import { loadEnv, loadToolEnv, type ToolEnv } from '../platform/env/env.js';
import { parseMysqlUrl } from '../platform/mysql/connection-info.js';
import { queryOnce } from '../platform/mysql/query-once.js';
import { runCli } from './run-cli.js';

/** How much of one tenant's demo world is there. */
const LOOK = `
  SELECT
    (SELECT COUNT(*) FROM im_users WHERE account IN (?)) AS users,
    (SELECT COUNT(*) FROM im_friends f JOIN im_users a ON a.id = f.uid JOIN im_users b ON b.id = f.friend_uid
      WHERE a.account IN ('alice', 'bob') AND b.account IN ('alice', 'bob')) AS friends,
    (SELECT COUNT(*) FROM im_groups g JOIN im_users o ON o.id = g.owner_uid
      WHERE g.name = 'Lobby' AND g.state = 'active' AND o.account = 'alice') AS lobbies`;

interface Found {
  users: string | number;
  friends: string | number;
  lobbies: string | number;
}

/** Runs at every start of the launcher: when everything is there it only looks, and loads nothing it does not need. */
async function main(): Promise<void> {
  const toolEnv = loadToolEnv();
  const missing: DemoTenant[] = [];
  for (const tenant of ENTERPRISES) if (!(await isWhole(toolEnv, tenant.code))) missing.push(tenant);
  if (missing.length > 0) {
    const { makeDemoWorld } = await import('./demo-world.js');
    await makeDemoWorld(loadEnv(), missing);
  }
  const made = missing.map((tenant) => tenant.code).join(' and ');
  process.stdout.write(made === '' ? 'The demo world is there.\n' : `The demo world of ${made} was made.\n`);
}

async function isWhole(env: ToolEnv, code: string): Promise<boolean> {
  const control = parseMysqlUrl(env.MYSQL_URL);
  const [row] = await queryOnce<Parameters<typeof tenantConnection>[0] & Pick<TenantEntity, 'status'>>(
    control,
    env.MYSQL_CONNECT_TIMEOUT_MS,
    `SELECT status, db_host AS dbHost, db_port AS dbPort, db_user AS dbUser, db_name AS dbName,
            db_secret_ref AS dbSecretRef
     FROM im_tenants WHERE code = ?`,
    [code],
  );
  if (!row) return false;
  // A demo tenant that the operator disabled is left alone.
  if (row.status !== 'active') return true;
  const connection = tenantConnection(row, control);
  if (!connection) throw new Error(`the secret ${String(row.dbSecretRef)} of tenant ${code} is not in the environment`);
  const [found] = await queryOnce<Found>(connection, env.MYSQL_CONNECT_TIMEOUT_MS, LOOK, [ACCOUNTS]);
  return Number(found.users) === ACCOUNTS.length && Number(found.friends) === 2 && Number(found.lobbies) >= 1;
}

runCli(main);
