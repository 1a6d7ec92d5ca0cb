import type { Runtime } from './runtime.js';
import type { StoragePort } from './storage.js';
import type { DeviceKind } from './wire.js';

export interface TridentOptions {
  /** one or several servers of the same deployment, e.g. `['http://localhost:3000', 'http://localhost:3001']` */
  servers: string | readonly string[];
  deviceId?: string;
  device?: DeviceKind;
  /** `all` (default) follows every topic of the user, `manual` only those asked for by `client.topic` */
  subscribe?: 'all' | 'manual';
  /** keeps cursors and unsent messages over restarts of the app */
  storage?: StoragePort;
  /** newest messages kept in memory for each topic that was asked for by `client.topic`; 1000 */
  windowSize?: number;
  /** messages that may wait in the send queue; 1000 */
  maxQueuedSends?: number;
  /** how long an answer may take, in milliseconds; 10 000 */
  requestTimeoutMs?: number;
  /** pause between heartbeats in milliseconds, 0 for none; 30 000 */
  heartbeatMs?: number;
  /** heads are asked within this time after a reconnect or resync, in milliseconds; 1000 */
  headJitterMs?: number;
  /** `['websocket']`; long polling needs sticky sessions at the load balancer */
  transports?: ('websocket' | 'polling')[];
  /** timers, random numbers and fetch, for tests */
  runtime?: Partial<Runtime>;
}
