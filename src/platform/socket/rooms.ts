import { asTenantId, asTopic, type TenantId, type Topic, type UserId } from '../ids/ids.js';

/** Socket.IO's adapter takes every room name of this length for a socket id and publishes it to all nodes. */
const SOCKET_ID_LENGTH = 20;

const named = (name: string): string => (name.length === SOCKET_ID_LENGTH ? `${name}_` : name);

/** Every socket keeps the names of its rooms: one text for all that are in a room, not one for each. */
const shared = new Map<string, string>();
const MAX_SHARED = 100_000;

function share(room: string): string {
  const known = shared.get(room);
  if (known !== undefined) return known;
  if (shared.size >= MAX_SHARED) shared.clear();
  shared.set(room, room);
  return room;
}

/** Room of the sockets that hear a topic. Clients never choose room names. */
export const topicRoom = (tenant: TenantId, topic: Topic): string => share(named(`${tenant}:t:${topic}`));

/** Room of all sockets of one user. */
export const userRoom = (tenant: TenantId, uid: UserId): string => named(`${tenant}:u:${uid}`);

/** Is it the room of a topic whose members change? */
export const isMembersRoom = (room: string): boolean => /^\d+:t:(grp|room)_/.test(room);

/** The tenant of any room of a tenant. */
export const tenantOfRoom = (room: string): TenantId => asTenantId(room.slice(0, room.indexOf(':')));

/** Whose room it is, the reverse of `topicRoom`; null for a room of another kind. */
export function topicOfRoom(room: string): { readonly tenant: TenantId; readonly topic: Topic } | null {
  const match = /^(\d+):t:(.*?)_?$/.exec(room);
  return match && { tenant: asTenantId(match[1]), topic: asTopic(match[2]) };
}
