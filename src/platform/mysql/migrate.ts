import { DataSource } from 'typeorm';
import type { ConnectionInfo } from './connection-info.js';
import { dataSourceOptions, type DatabaseSchema } from './data-source-options.js';
import { createDatabaseIfMissing, probeFlavor } from './open-data-source.js';

const LOCK_WAIT_SECONDS = 60;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Makes the database when it is missing and brings its tables up to date. Two processes at once are safe: the second
 * waits for the first one's named lock and then finds nothing to do.
 * @returns names of the migrations that ran now
 */
export async function migrateDatabase(info: ConnectionInfo, schema: DatabaseSchema): Promise<string[]> {
  await createDatabaseIfMissing(info, CONNECT_TIMEOUT_MS);
  const flavor = await probeFlavor(info, CONNECT_TIMEOUT_MS);
  const source = new DataSource(
    dataSourceOptions(flavor, info, schema, { connections: 3, connectTimeoutMs: CONNECT_TIMEOUT_MS }),
  );
  await source.initialize();
  const lockHolder = source.createQueryRunner();
  const lock = `im_migrate:${info.database}`.slice(0, 64);
  try {
    const [{ held }] = (await lockHolder.query('SELECT GET_LOCK(?, ?) AS held', [lock, LOCK_WAIT_SECONDS])) as [
      { held: string | number | null },
    ];
    if (Number(held) !== 1) throw new Error(`another process has been migrating ${info.database} for over a minute`);
    const ran = await source.runMigrations();
    await lockHolder.query('SELECT RELEASE_LOCK(?)', [lock]);
    return ran.map((migration) => migration.name);
  } finally {
    await lockHolder.release();
    await source.destroy();
  }
}
