/** What a configuration or a dictionary holds, by its declared type. */
export type ConfigValue = string | number | boolean | object | null;

export interface ConfigItem {
  readonly group: string;
  readonly key: string;
  readonly name: string;
  readonly type: string;
  readonly value: ConfigValue;
}

export interface DictEntry {
  readonly label: string;
  readonly value: ConfigValue;
  readonly valueType: string;
  readonly isDefault: boolean;
  readonly sort: number;
}

export const THIRD_PARTY_KINDS = ['oss', 'sms', 'content_safety', 'rtc', 'push'] as const;
export type ThirdPartyKind = (typeof THIRD_PARTY_KINDS)[number];

/** Settings of an outside service, its secrets opened: for the one who calls it, never for an answer or a log. */
export interface ThirdParty {
  readonly tenant: string;
  readonly kind: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** A configuration as an operator writes it. */
export interface ConfigChange {
  readonly type: string;
  readonly value: string;
  readonly name?: string;
}

export interface DictChange {
  readonly name: string;
  readonly items: readonly { label: string; value: string; valueType: string; isDefault?: boolean }[];
}

export interface ThirdPartyChange {
  readonly settings: object;
  /** Absent: those that are there stay. */
  readonly secrets?: Readonly<Record<string, string>>;
  readonly enabled: boolean;
}

/** What is told of an outside service's settings: which secrets there are, not what they are. */
export interface ThirdPartyInfo {
  readonly tenantId: string;
  readonly kind: string;
  readonly enabled: boolean;
  readonly settings: object;
  readonly secretNames: readonly string[];
  /** Id of the key that sealed the secrets. */
  readonly keyId: string | null;
}
