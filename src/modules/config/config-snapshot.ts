import type { ConfigItem, ConfigValue, DictEntry, ThirdParty } from './config.types.js';

/** Rows of the control database, as text. */
export interface ConfigRows {
  readonly configs: readonly { group: string; key: string; name: string; type: string; value: string | null }[];
  readonly dicts: readonly {
    id: string;
    type: string;
    label: string;
    value: string;
    valueType: string;
    isDefault: number;
    sort: number;
  }[];
  readonly thirdParties: readonly { tenant: string; kind: string; settings: string; secrets: string | null }[];
}

/** All configuration at one moment; built anew by every reload, never changed. */
export interface ConfigSnapshot {
  /** By group, then key. */
  readonly configs: ReadonlyMap<string, ReadonlyMap<string, ConfigItem>>;
  readonly dicts: ReadonlyMap<string, readonly DictEntry[]>;
  /** By `<tenant>/<kind>`. */
  readonly thirdParties: ReadonlyMap<string, ThirdParty>;
  /** Dictionary entries by row, for the next reload. */
  readonly dictRows: ReadonlyMap<string, DictEntry>;
}

export const EMPTY_CONFIG: ConfigSnapshot = {
  configs: new Map(),
  dicts: new Map(),
  thirdParties: new Map(),
  dictRows: new Map(),
};

export interface ConfigProblem {
  /** Such as `config/upload/maxSize`. */
  readonly row: string;
  readonly problem: string;
}

export const placeOf = (tenant: string, kind: string): string => `third-party/${tenant}/${kind}`;

/**
 * @param old a row that does not parse keeps what it held; one that never parsed is left out
 * @param open opens a sealed text for its place
 */
export function buildConfig(
  rows: ConfigRows,
  old: ConfigSnapshot,
  open: (sealed: string, place: string) => string,
): { snapshot: ConfigSnapshot; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const kept = <T>(row: string, parse: () => T, before: T | undefined): T | undefined => {
    try {
      return parse();
    } catch (error) {
      problems.push({ row, problem: (error as Error).message });
      return before;
    }
  };

  const configs = new Map<string, Map<string, ConfigItem>>();
  for (const { group, key, name, type, value } of rows.configs) {
    const before = old.configs.get(group)?.get(key);
    const item = kept(`config/${group}/${key}`, () => ({ group, key, name, type, value: parse(type, value) }), before);
    if (item) configs.set(group, (configs.get(group) ?? new Map<string, ConfigItem>()).set(key, item));
  }

  const dicts = new Map<string, DictEntry[]>();
  const dictRows = new Map<string, DictEntry>();
  for (const { id, type, label, value, valueType, isDefault, sort } of rows.dicts) {
    const fresh = () => ({ label, value: parse(valueType, value), valueType, isDefault: isDefault === 1, sort });
    const entry = kept(`dict/${type}/${id}`, fresh, old.dictRows.get(id));
    if (!entry) continue;
    dictRows.set(id, entry);
    dicts.set(type, [...(dicts.get(type) ?? []), entry]);
  }

  const thirdParties = new Map<string, ThirdParty>();
  for (const row of rows.thirdParties) {
    const name = `${row.tenant}/${row.kind}`;
    const party = kept(placeOf(row.tenant, row.kind), () => thirdPartyOf(row, open), old.thirdParties.get(name));
    if (party) thirdParties.set(name, party);
  }
  return { snapshot: { configs, dicts, thirdParties, dictRows }, problems };
}

function thirdPartyOf(row: ConfigRows['thirdParties'][number], open: (sealed: string, place: string) => string) {
  const secrets = row.secrets === null ? {} : jsonObject(open(row.secrets, placeOf(row.tenant, row.kind)));
  return {
    tenant: row.tenant,
    kind: row.kind,
    settings: jsonObject(row.settings),
    secrets: secrets as Record<string, string>,
  };
}

/** What the error says never holds the value: it may be a secret. */
function jsonObject(text: string): Record<string, unknown> {
  const value = json(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('is no JSON object');
  return value as Record<string, unknown>;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error('is no JSON');
  }
}

/**
 * Reads a value by HotGo's type names. @throws Error with what is wrong, without the value
 */
export function parse(type: string, text: string | null): ConfigValue {
  if (text === null) return null;
  if (/^u?int(8|16|32|64)?$/.test(type)) {
    const value = Number(text);
    if (!/^-?\d+$/.test(text.trim()) || !Number.isSafeInteger(value)) throw new Error('is no whole number');
    if (type.startsWith('u') && value < 0) throw new Error('must not be negative');
    return value;
  }
  if (/^float(32|64)?$/.test(type)) {
    const value = Number(text);
    if (text.trim() === '' || !Number.isFinite(value)) throw new Error('is no number');
    return value;
  }
  if (type === 'bool') {
    if (/^(true|1)$/i.test(text)) return true;
    if (/^(false|0)$/i.test(text)) return false;
    throw new Error('is neither true nor false');
  }
  if (type === 'json' || type.startsWith('[]') || type.startsWith('map')) return deepFrozen(json(text)) as ConfigValue;
  if (type === 'date' || type === 'datetime') {
    if (Number.isNaN(Date.parse(text.replace(' ', 'T')))) throw new Error('is no date');
    return text;
  }
  // Everything else is text, as HotGo takes it.
  return text;
}

function deepFrozen(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFrozen);
  return value;
}
