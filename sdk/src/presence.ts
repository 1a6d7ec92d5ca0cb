import type { Context } from './context.js';
import type { Presence } from './wire.js';

const BATCH = 200;
type PresenceCall = 'presence:get' | 'presence:watch' | 'presence:unwatch';

/** Asks and watches the presence of users; what is watched is watched again after every reconnect. */
export const createPresence = ({ request, emit }: Context) => {
  const watched = new Set<string>();
  const ask = async (call: PresenceCall, uids: readonly string[]): Promise<Presence[]> => {
    const all: Presence[] = [];
    for (let i = 0; i < uids.length; i += BATCH) {
      const answer = await request(call, { uids: uids.slice(i, i + BATCH) });
      all.push(...(answer.presences ?? []));
    }
    return all;
  };
  return {
    get: (uids: readonly string[]) => ask('presence:get', uids),
    watch(uids: readonly string[]): Promise<Presence[]> {
      for (const uid of uids) watched.add(uid);
      return ask('presence:watch', uids);
    },
    unwatch(uids: readonly string[]): Promise<Presence[]> {
      for (const uid of uids) watched.delete(uid);
      return ask('presence:unwatch', uids);
    },
    /** After a reconnect: the answers are told like changes, for nobody knows what happened meanwhile. */
    async renew(): Promise<void> {
      for (const presence of await ask('presence:watch', [...watched])) emit('presence:changed', presence);
    },
  };
};
