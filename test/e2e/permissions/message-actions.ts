import { event, rest, shown, topicBelow, type Action, type Door } from './actions.js';
import type { Group } from './group.js';
import { MEMBERS, MISSING, type Role } from './rules.js';

const text = (words: string): object => ({ text: words });

const draft =
  (more: object = {}) =>
  (_group: Group, role: Role): object => ({ clientMsgId: `new-${role}`, type: 'text', content: text('new'), ...more });

const sending = (more: object = {}): Action['doors'] => ({
  socket: event('message:send', (group, role) => ({ topic: group.topic, ...draft(more)(group, role) })),
  rest: rest('POST', topicBelow('/messages'), draft(more)),
});

type Which = (group: Group, role: Role) => number;
const own: Which = (group, role) => group.own(role);
const others: Which = (group, role) => group.others(role);
const ofOwner: Which = (group) => group.own('owner');

const editing = (which: Which): Action['doors'] => ({
  socket: event('message:edit', (group, role) => ({
    topic: group.topic,
    seq: which(group, role),
    content: text('edited'),
    version: 1,
  })),
  rest: rest(
    'PATCH',
    topicBelow((group, role) => `/messages/${which(group, role)}`),
    () => ({
      content: text('edited'),
      version: 1,
    }),
  ),
});

const seqEvent = (name: string, which: Which): Door =>
  event(name, (group, role) => ({ topic: group.topic, seq: which(group, role) }));

const recalling = (which: Which): Action['doors'] => ({
  socket: seqEvent('message:recall', which),
  rest: rest(
    'POST',
    topicBelow((group, role) => `/messages/${which(group, role)}/recall`),
  ),
});

const removing = (which: Which): Action['doors'] => ({
  socket: seqEvent('message:remove', which),
  rest: rest(
    'DELETE',
    topicBelow((group, role) => `/messages/${which(group, role)}`),
  ),
});

/** `topic:subscribe` answers for each topic by itself. */
const subscribing: Door = async (group, role) => {
  const answer = await group.people.emit(role, 'topic:subscribe', { topics: [group.topic] });
  const [topic] = answer.body.topics as { error?: { code: 'NOT_MEMBER' } }[];
  return { ...answer, verdict: topic.error?.code ?? answer.verdict };
};

/** Everybody keeps the first message while he may; is it shown to him afterwards? */
const favoriteShown: Door = async ({ people, topic }, role) => {
  const answer = await people.rest(role, 'GET', '/v1/im/favorites');
  const items = answer.body.items as { topic: string; message: object | null }[];
  const isReadable = items.some((item) => item.topic === topic && item.message !== null);
  return { ...answer, verdict: isReadable ? 'ok' : 'NOT_MEMBER' };
};

/** Whoever is in the group keeps its first message. */
async function keepForAll({ people, topic }: Group): Promise<void> {
  for (const role of [...MEMBERS, 'banned', 'former'] as const) {
    await people.must(role, 'POST', '/v1/im/favorites', { topic, seq: 1 });
  }
}

const cursor = { receivedSeq: 1, readSeq: 1 };

/** What is said in a group, and what each member does with it for himself. */
const ACTIONS: readonly Action[] = [
  { name: 'send', rule: 'speech', doors: sending() },
  { name: 'send while all are muted', rule: 'speechOfAdmins', doors: sending(), settings: { muteAll: true } },
  { name: 'mention everybody', rule: 'admins', doors: sending({ mentionAll: true }) },
  { name: 'edit an own message', rule: 'speech', doors: editing(own) },
  {
    name: 'edit an own message while all are muted',
    rule: 'speechOfAdmins',
    doors: editing(own),
    settings: { muteAll: true },
  },
  { name: 'edit a message of another', rule: 'nobody', doors: editing(others) },
  { name: 'recall an own message', rule: 'members', doors: recalling(own) },
  {
    name: 'recall an own message while all are muted',
    rule: 'members',
    doors: recalling(own),
    settings: { muteAll: true },
  },
  { name: 'recall a message of another', rule: 'admins', doors: recalling(others) },
  { name: 'remove a message of a member', rule: 'admins', doors: removing(others) },
  { name: 'remove an own message', rule: 'admins', doors: removing(own) },
  {
    name: 'delete a message for oneself',
    rule: 'members',
    doors: {
      socket: event('message:delete', (group) => ({ topic: group.topic, seqs: [ofOwner(group, 'owner')] })),
      rest: rest('POST', topicBelow('/messages/hide'), (group) => ({ seqs: [ofOwner(group, 'owner')] })),
    },
  },
  {
    name: 'read the history',
    rule: 'members',
    doors: {
      socket: event('message:history', ({ topic }) => ({ topic, afterSeq: 0 })),
      rest: rest('GET', topicBelow('/messages?afterSeq=0')),
    },
    reads: true,
  },
  {
    name: 'read what has changed',
    rule: 'members',
    doors: {
      socket: event('topic:changes', ({ topic }) => ({ topic, afterChange: 0 })),
      rest: rest('GET', topicBelow('/changes?afterChange=0')),
    },
    reads: true,
  },
  { name: 'subscribe', rule: 'members', doors: { socket: subscribing }, reads: true },
  {
    name: 'show that one is typing',
    rule: 'members',
    doors: { socket: event('topic:typing', ({ topic }) => ({ topic })) },
    reads: true,
  },
  {
    name: 'say how far one has read',
    rule: 'members',
    doors: {
      socket: event('topic:read', ({ topic }) => ({ topic, seq: 1 })),
      rest: rest('PUT', topicBelow('/cursor'), () => cursor),
    },
  },
  {
    name: 'say what one has received',
    rule: 'members',
    doors: {
      socket: event('topic:received', ({ topic }) => ({ topic, seq: 1 })),
      rest: rest('PUT', topicBelow('/cursor'), () => ({ receivedSeq: 1 })),
    },
  },
  {
    name: 'pin and silence the conversation',
    rule: 'members',
    doors: { rest: rest('PATCH', topicBelow(), () => ({ muted: true, pinned: true })) },
  },
  {
    name: 'keep a message',
    rule: 'members',
    doors: {
      rest: rest(
        'POST',
        () => '/v1/im/favorites',
        (group) => ({ topic: group.topic, seq: 1 }),
      ),
    },
  },
  {
    name: 'read what one has kept',
    rule: 'members',
    doors: { rest: favoriteShown },
    early: keepForAll,
    reads: true,
    ends: MISSING,
  },
  {
    name: 'find it in the conversations',
    rule: 'members',
    doors: { rest: shown('/v1/im/topics?limit=100') },
    reads: true,
    ends: MISSING,
  },
  {
    name: 'find it in the unread ones',
    rule: 'members',
    doors: { rest: shown('/v1/im/unread') },
    reads: true,
    ends: MISSING,
  },
  {
    name: 'find it on the first screen',
    rule: 'members',
    doors: { rest: shown('/v1/im/bootstrap') },
    reads: true,
    ends: MISSING,
  },
];

export const MESSAGE_ACTIONS: readonly Action[] = ACTIONS.map((action) => ({ ...action, talks: true }));
