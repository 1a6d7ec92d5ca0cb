/**
 * For TypeORM's own command line only (`typeorm migration:show -d …`); the product migrates by `npm run tenant -- migrate`.
 * The database that MYSQL_URL names decides which tables are meant: `im_control` has the control tables, any other a tenant's.
 */
import { DataSource } from 'typeorm';
import { loadToolEnv } from './src/platform/env/env.js';
import { parseMysqlUrl } from './src/platform/mysql/connection-info.js';
import { dataSourceOptions } from './src/platform/mysql/data-source-options.js';
import { probeFlavor } from './src/platform/mysql/open-data-source.js';
import { schemas } from './src/schema.js';

async function open(): Promise<DataSource> {
  const env = loadToolEnv();
  const info = parseMysqlUrl(env.MYSQL_URL);
  const schema = info.database === 'im_control' ? schemas.control : schemas.tenant;
  const connectTimeoutMs = env.MYSQL_CONNECT_TIMEOUT_MS;
  const flavor = await probeFlavor(info, connectTimeoutMs);
  return new DataSource(dataSourceOptions(flavor, info, schema, { connections: 2, connectTimeoutMs }));
}

export default open();
