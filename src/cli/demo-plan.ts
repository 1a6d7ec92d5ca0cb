/** The demo world (docs/protocol.md): what `npm start` shows a newcomer. */
export interface DemoTenant {
  /** Enterprise code. */
  readonly code: string;
  readonly name: string;
}

export const ENTERPRISES: readonly DemoTenant[] = [
  { code: 'demo', name: 'Demo' },
  { code: 'rival', name: 'Rival' },
];

/** Login names in each tenant; the first owns the group `Lobby`, the first two are friends. */
export const ACCOUNTS = ['alice', 'bob', 'carol', 'dave'] as const;
export const DEMO_PASSWORD = 'demo-pass-1';
export const LOBBY = 'Lobby';
