import type { EntityManager } from 'typeorm';
import type { ConfigRows } from './config-snapshot.js';
import type { ConfigChange, DictChange } from './config.types.js';

/** HotGo's word for a row that is switched on. */
const ON = 1;

export interface ThirdPartyRow {
  readonly tenant: string;
  readonly kind: string;
  readonly enabled: number;
  readonly settings: string;
  readonly secrets: string | null;
}

/** Reads all rows that are switched on; columns are named, since a table of HotGo may have more. */
export async function readAll(manager: EntityManager): Promise<ConfigRows> {
  const configs = (await manager.query(
    'SELECT `group`, `key`, name, type, value FROM hg_sys_config WHERE status = ? ORDER BY sort, id',
    [ON],
  )) as ConfigRows['configs'];
  const dicts = (await manager.query(
    `SELECT d.id, d.type, d.label, d.value, d.value_type AS valueType, d.is_default AS isDefault, d.sort
     FROM hg_sys_dict_data d JOIN hg_sys_dict_type t ON t.type = d.type AND t.status = ?
     WHERE d.status = ? ORDER BY d.sort, d.id`,
    [ON, ON],
  )) as ConfigRows['dicts'];
  const thirdParties = (await readThirdParties(manager)).filter((row) => row.enabled === ON);
  return { configs, dicts, thirdParties };
}

export async function readThirdParties(manager: EntityManager): Promise<ThirdPartyRow[]> {
  return manager.query(
    'SELECT tenant_id AS tenant, kind, enabled, settings, secrets FROM im_third_party_configs ORDER BY tenant_id, kind',
  );
}

export async function writeConfig(tx: EntityManager, group: string, key: string, change: ConfigChange): Promise<void> {
  const { type, value, name } = change;
  const found = (await tx.query('SELECT id, name FROM hg_sys_config WHERE `group` = ? AND `key` = ? FOR UPDATE', [
    group,
    key,
  ])) as { id: string; name: string }[];
  if (found.length > 0) {
    await tx.query('UPDATE hg_sys_config SET type = ?, value = ?, name = ?, status = ?, updated_at = ? WHERE id = ?', [
      type,
      value,
      name ?? found[0].name,
      ON,
      new Date(),
      found[0].id,
    ]);
    return;
  }
  await tx.query(
    'INSERT INTO hg_sys_config (`group`, `key`, name, type, value, status, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    [group, key, name ?? '', type, value, ON, new Date()],
  );
}

/** @returns false when there was no such row */
export async function deleteConfig(tx: EntityManager, group: string, key: string): Promise<boolean> {
  const result: unknown = await tx.query('DELETE FROM hg_sys_config WHERE `group` = ? AND `key` = ?', [group, key]);
  return affected(result) > 0;
}

/** Puts these entries in the place of all that the dictionary had. */
export async function writeDict(tx: EntityManager, type: string, change: DictChange): Promise<void> {
  const now = new Date();
  await tx.query(
    `INSERT INTO hg_sys_dict_type (type, name, status, created_at) VALUES (?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE name = VALUES(name), status = VALUES(status), updated_at = VALUES(created_at)`,
    [type, change.name, ON, now],
  );
  await tx.query('DELETE FROM hg_sys_dict_data WHERE type = ?', [type]);
  for (const [index, item] of change.items.entries()) {
    await tx.query(
      `INSERT INTO hg_sys_dict_data (type, label, value, value_type, is_default, sort, status, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [type, item.label, item.value, item.valueType, item.isDefault ? 1 : 0, index, ON, now],
    );
  }
}

/** @returns false when there was no such dictionary */
export async function deleteDict(tx: EntityManager, type: string): Promise<boolean> {
  await tx.query('DELETE FROM hg_sys_dict_data WHERE type = ?', [type]);
  return affected(await tx.query('DELETE FROM hg_sys_dict_type WHERE type = ?', [type])) > 0;
}

/** @param secrets sealed; undefined leaves those that are there */
export async function writeThirdParty(
  tx: EntityManager,
  row: { tenant: string; kind: string; enabled: boolean; settings: string; secrets: string | undefined },
): Promise<void> {
  await tx.query(
    `INSERT INTO im_third_party_configs (tenant_id, kind, enabled, settings, secrets) VALUES (?, ?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE enabled = VALUES(enabled), settings = VALUES(settings)
     ${row.secrets === undefined ? '' : ', secrets = VALUES(secrets)'}`,
    [row.tenant, row.kind, row.enabled ? 1 : 0, row.settings, row.secrets ?? null],
  );
}

/** Puts a newly sealed text in the place of the one it was made from. */
export async function resealThirdParty(tx: EntityManager, row: ThirdPartyRow, sealed: string): Promise<void> {
  await tx.query('UPDATE im_third_party_configs SET secrets = ? WHERE tenant_id = ? AND kind = ? AND secrets = ?', [
    sealed,
    row.tenant,
    row.kind,
    row.secrets,
  ]);
}

/** @returns false when there was no such row */
export async function deleteThirdParty(tx: EntityManager, tenant: string, kind: string): Promise<boolean> {
  const sql = 'DELETE FROM im_third_party_configs WHERE tenant_id = ? AND kind = ?';
  return affected(await tx.query(sql, [tenant, kind])) > 0;
}

const affected = (result: unknown): number => (result as { affectedRows: number }).affectedRows;
