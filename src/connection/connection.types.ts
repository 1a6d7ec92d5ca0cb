/** Why the server ends a connection. */
export type ClosingReason = 'token_expired' | 'revoked' | 'slow_consumer' | 'draining' | 'tenant_disabled';

declare module '../platform/socket/events.js' {
  interface ServerEvents {
    /** Presence is written and the topics are joined: from now on nothing of them is missed on a healthy connection. */
    'session:ready': {
      readonly uid: string;
      readonly sessionId: string;
      readonly nodeId: string;
      readonly serverTime: string;
      readonly topics: number;
    };
    'session:closing': { readonly reason: ClosingReason; readonly reconnectAfterMs: number };
    'topic:typing': { readonly topic: string; readonly uid: string };
    /** Realtime was dropped; absent topics mean all. */
    'topic:resync': { readonly topics?: readonly string[] };
  }
}
