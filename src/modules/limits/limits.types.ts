import type { AddressBudget, UserBudget } from '../../platform/http/spends.js';

/** Everything that is limited; the names of metrics, settings and keys. */
export type LimitName = UserBudget | AddressBudget | 'handshake';
