import type { Chats } from './chats.js';
import type { CHAT_RULES, Side, USER_RULES, Verdict } from './rules.js';

export type Call = (chats: Chats, side: Side) => Promise<Verdict>;

interface OfChat<Rules> {
  readonly name: string;
  readonly rule: keyof Rules & string;
  readonly doors: Readonly<Record<string, Call>>;
}

type Body = (chats: Chats, side: Side) => object;

const event =
  (name: string, more: Body = () => ({})): Call =>
  async (chats, side) => {
    const payload = { topic: chats.topic(side), ...more(chats, side) };
    return (await chats.people.emit(chats.actor(side), name, payload)).verdict;
  };

const rest =
  (method: string, path: (chats: Chats, side: Side) => string, body?: Body): Call =>
  async (chats, side) =>
    (await chats.people.rest(chats.actor(side), method, path(chats, side), body?.(chats, side))).verdict;

const below =
  (path: string | ((chats: Chats, side: Side) => string)) =>
  (chats: Chats, side: Side): string =>
    `/v1/im/topics/${chats.topic(side)}${typeof path === 'string' ? path : path(chats, side)}`;

const draft = (chats: Chats): object => ({ clientMsgId: chats.id('new'), type: 'text', content: { text: 'new' } });
const edited: Body = () => ({ content: { text: 'edited' }, version: 1 });

type Which = (chats: Chats, side: Side) => number;
const own: Which = (chats, side) => chats.own(side);
const others: Which = (chats, side) => chats.others(side);

const changing = (
  name: string,
  method: string,
  which: Which,
  more: Body = () => ({}),
  path = '',
): OfChat<0>['doors'] => ({
  socket: event(`message:${name}`, (chats, side) => ({ seq: which(chats, side), ...more(chats, side) })),
  rest: rest(
    method,
    below((chats, side) => `/messages/${which(chats, side)}${path}`),
    method === 'PATCH' ? more : undefined,
  ),
});

/** `topic:subscribe` answers for each topic by itself. */
const subscribing: Call = async (chats, side) => {
  const answer = await chats.people.emit(chats.actor(side), 'topic:subscribe', { topics: [chats.topic(side)] });
  const [topic] = answer.body.topics as { error?: { code: Verdict } }[];
  return topic.error?.code ?? answer.verdict;
};

export const CHAT_ACTIONS: readonly OfChat<typeof CHAT_RULES>[] = [
  {
    name: 'send',
    rule: 'speech',
    doors: { socket: event('message:send', draft), rest: rest('POST', below('/messages'), draft) },
  },
  { name: 'show that one is typing', rule: 'speech', doors: { socket: event('topic:typing') } },
  { name: 'edit an own message', rule: 'speech', doors: changing('edit', 'PATCH', own, edited) },
  { name: 'edit a message of the other', rule: 'nobody', doors: changing('edit', 'PATCH', others, edited) },
  { name: 'recall an own message', rule: 'sides', doors: changing('recall', 'POST', own, undefined, '/recall') },
  {
    name: 'recall a message of the other',
    rule: 'nobody',
    doors: changing('recall', 'POST', others, undefined, '/recall'),
  },
  { name: 'remove an own message', rule: 'nobody', doors: changing('remove', 'DELETE', own) },
  { name: 'remove a message of the other', rule: 'nobody', doors: changing('remove', 'DELETE', others) },
  {
    name: 'delete a message for oneself',
    rule: 'sides',
    doors: {
      socket: event('message:delete', (chats, side) => ({ seqs: [others(chats, side)] })),
      rest: rest('POST', below('/messages/hide'), (chats, side) => ({ seqs: [others(chats, side)] })),
    },
  },
  {
    name: 'read the history',
    rule: 'sides',
    doors: { socket: event('message:history'), rest: rest('GET', below('/messages')) },
  },
  {
    name: 'read what has changed',
    rule: 'sides',
    doors: {
      socket: event('topic:changes', () => ({ afterChange: 0 })),
      rest: rest('GET', below('/changes?afterChange=0')),
    },
  },
  { name: 'subscribe', rule: 'sides', doors: { socket: subscribing } },
  {
    name: 'say how far one has read',
    rule: 'sides',
    doors: {
      socket: event('topic:read', () => ({ seq: 1 })),
      rest: rest('PUT', below('/cursor'), () => ({ readSeq: 1 })),
    },
  },
  { name: 'say what one has received', rule: 'sides', doors: { socket: event('topic:received', () => ({ seq: 1 })) } },
  {
    name: 'pin and silence the conversation',
    rule: 'sides',
    doors: { rest: rest('PATCH', below(''), () => ({ muted: true, pinned: true })) },
  },
  {
    name: 'keep a message',
    rule: 'sides',
    doors: {
      rest: rest(
        'POST',
        () => '/v1/im/favorites',
        (chats, side) => ({ topic: chats.topic(side), seq: others(chats, side) }),
      ),
    },
  },
];

const peer: Body = (chats, side) => ({ uid: chats.peer(side).uid });
const peerAt =
  (path: string) =>
  (chats: Chats, side: Side): string =>
    `${path}${chats.peer(side).uid}`;

/** What is shown of the other: `BLOCKED` where it is hidden. */
const seeing =
  (door: 'socket' | 'rest'): Call =>
  async (chats, side) => {
    const { people } = chats;
    const { uid } = chats.peer(side);
    const { verdict, body } =
      door === 'socket'
        ? await people.emit(chats.actor(side), 'presence:get', { uids: [uid] })
        : await people.rest(chats.actor(side), 'GET', `/v1/im/users/presence?uids=${uid}`);
    const [presence] = body.presences as { state: string }[];
    return presence.state === 'hidden' ? 'BLOCKED' : verdict;
  };

const promised =
  (flag: string): Call =>
  async (chats, side) => {
    const path = `/v1/im/relations/context?uid=${chats.peer(side).uid}`;
    const { verdict, body } = await chats.people.rest(chats.actor(side), 'GET', path);
    return verdict === 'ok' && body[flag] !== true ? 'BLOCKED' : verdict;
  };

/** Into a new group of one's own. */
const addingLater: Call = async (chats, side) => {
  const me = chats.actor(side);
  const { topic } = await chats.people.must<{ topic: string }>(me, 'POST', '/v1/im/groups', { name: 'Mine' });
  const body = { uids: [chats.peer(side).uid] };
  return (await chats.people.rest(me, 'POST', `/v1/im/groups/${topic}/members`, body)).verdict;
};

/** By an invite that the other has made. */
const accepting: Call = async (chats, side) => {
  const other = chats.peer(side);
  const { topic } = await chats.people.must<{ topic: string }>(other, 'POST', '/v1/im/groups', { name: 'Theirs' });
  const { code } = await chats.people.must<{ code: string }>(other, 'POST', `/v1/im/groups/${topic}/invites`, {});
  return (await chats.people.rest(chats.actor(side), 'POST', `/v1/im/invites/${code}/accept`)).verdict;
};

export const USER_ACTIONS: readonly OfChat<typeof USER_RULES>[] = [
  { name: 'read the profile', rule: 'everybody', doors: { rest: rest('GET', peerAt('/v1/im/users/')) } },
  {
    name: 'ask how one stands',
    rule: 'everybody',
    doors: { rest: rest('GET', peerAt('/v1/im/relations/context?uid=')) },
  },
  { name: 'be promised a chat', rule: 'unblocked', doors: { rest: promised('canStartChat') } },
  { name: 'be promised presence', rule: 'unblocked', doors: { rest: promised('canSeePresence') } },
  { name: 'be promised the last sight', rule: 'unblocked', doors: { rest: promised('canSeeLastSeen') } },
  { name: 'see presence', rule: 'seen', doors: { socket: seeing('socket'), rest: seeing('rest') } },
  {
    name: 'ask to be friends',
    rule: 'unblocked',
    doors: {
      friends: rest('POST', () => '/v1/im/relations/friends', peer),
      requests: rest('POST', () => '/v1/im/relations/friend-requests', peer),
    },
  },
  { name: 'follow', rule: 'unblocked', doors: { rest: rest('POST', () => '/v1/im/relations/following', peer) } },
  { name: 'block', rule: 'everybody', doors: { rest: rest('POST', () => '/v1/im/relations/blocklist', peer) } },
  {
    name: 'add to a group',
    rule: 'added',
    doors: {
      new: rest(
        'POST',
        () => '/v1/im/groups',
        (chats, side) => ({ name: 'Ours', memberUids: [chats.peer(side).uid] }),
      ),
      later: addingLater,
    },
  },
  { name: 'accept an invite', rule: 'unblocked', doors: { rest: accepting } },
];
