import type { TestClient } from '../support/client.js';
import { PASSWORD, Stage, type RestAnswer, type TestNode, type TestUser } from '../support/stage.js';
import { until } from '../support/until.js';

/** Identifiers that other systems took for one another, or lost the end of. docs/field-reports.md says where each comes from. */
let stage: Stage;
let node: TestNode;
let alice: TestUser;
let a: TestClient;
let topic: string;

interface MemberPage {
  readonly items: readonly { readonly uid: string }[];
  readonly nextCursor: string | null;
}

/** The row after which ids no longer fit a double. */
const BEYOND = '9007199254740990';

beforeAll(async () => {
  stage = await Stage.open();
  await stage.tenant('demo', ['alice', 'bob'], { registration: 'open' });
  await stage.tenant('large', ['zero']);
  for (const table of ['im_users', 'im_groups', 'im_group_messages']) {
    await stage.sql('large', `ALTER TABLE ${table} AUTO_INCREMENT = ${BEYOND}`);
  }
  await stage.addUsers('large', ['alice', 'bob', 'carol', 'dave']);
  node = await stage.inProcess();
  alice = await stage.login(node, 'demo', 'alice');
  a = await stage.connect(node, alice);
  topic = await stage.group(node, alice, [await stage.login(node, 'demo', 'bob')]);
}, 60_000);
afterAll(() => stage.close());

describe('B10: ids that a loose comparison takes for one', () => {
  it('message ids: each of a pair is a message of its own, or refused; none is swallowed', async () => {
    const pairs = [
      ['aB3x', 'Ab3X'],
      ['id1', 'id1 '],
      ['e', 'é'],
      ['👍', '🎉'],
      ['zero', 'ze\u200bro'],
      ['a_b', 'a-b'],
      ['1', '01'],
      ['__proto__', 'constructor'],
    ];
    for (const pair of pairs) {
      const acks = await Promise.all(pair.map((id) => a.send(topic, id, `text of ${id}`)));
      for (const [index, ack] of acks.entries()) {
        if (/^[\w.:-]+$/.test(pair[index])) expect(ack).toMatchObject({ ok: true, duplicate: false });
        else expect(ack).toMatchObject({ ok: false, error: { code: 'VALIDATION_FAILED' } });
      }
    }
    const stored = await a.historyFrom(topic);
    const ids = stored.map((message) => message.clientMsgId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const message of stored) expect(message.content).toEqual({ text: `text of ${message.clientMsgId}` });
  });

  it('accounts: each of a pair is a user of its own, or refused', async () => {
    const uids = new Map<string, string>();
    for (const account of ['Erin', 'erin', 'erin ', 'érin', 'er\u200bin', 'eri🎉']) {
      const { body: ticket } = await stage.call<{ loginToken: string }>(node, 'POST', '/v1/auth/enterprise', {
        body: { code: 'demo' },
      });
      const body = { loginToken: ticket.loginToken, account, password: PASSWORD, nickname: 'n' };
      const answer = await stage.call<{ uid: string }>(node, 'POST', '/v1/auth/register', { body });
      if (answer.status < 300) uids.set(account, answer.body.uid);
      else expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    }
    expect([...uids.keys()]).toEqual(['Erin', 'erin']);
    for (const [account, uid] of uids) expect((await stage.login(node, 'demo', account)).uid).toBe(uid);
    await expect(stage.login(node, 'demo', 'ERIN')).rejects.toThrow('UNAUTHENTICATED');
  });

  it.each(['Demo', 'DEMO', 'demo ', ' demo', 'démo', 'demo\u200b', '%', '__proto__', 'constructor'])(
    'tenant codes: %j is not demo',
    async (code) => {
      const answer = await stage.call(node, 'POST', '/v1/auth/enterprise', { body: { code } });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(['TENANT_UNKNOWN', 'VALIDATION_FAILED']).toContain(answer.body.code);
    },
  );
});

describe('B56: ids beyond 2^53', () => {
  let users: TestUser[];
  let group: string;
  let clients: TestClient[];

  beforeAll(async () => {
    users = await Promise.all(['alice', 'bob', 'carol', 'dave'].map((name) => stage.login(node, 'large', name)));
    // Ids that a double cannot tell apart: a first group takes the even one.
    await stage.group(node, users[0], []);
    await stage.group(node, users[0], []);
    group = await stage.group(node, users[0], users.slice(1, 3));
    clients = await Promise.all(users.slice(0, 3).map((user) => stage.connect(node, user)));
  });

  const say = (client: TestClient, id: string, more = {}): Promise<{ seq: number; messageId: string }> =>
    client.send(group, id, `text of ${id}`, more);

  it('of users stay exact: in tokens, profiles and member lists', async () => {
    const uids = users.map((user) => user.uid);
    expect(uids).toEqual(['9007199254740990', '9007199254740991', '9007199254740992', '9007199254740993']);
    expect(group).toBe('grp_9007199254740992');
    for (const [index, user] of users.entries()) {
      const options = { token: user.accessToken };
      expect((await stage.call(node, 'GET', '/v1/im/users/me', options)).body).toMatchObject({
        uid: uids[index],
        account: user.account,
      });
      const others = await stage.call<{ items: { uid: string; nickname: string }[] }>(
        node,
        'GET',
        `/v1/im/users?uids=${uids.join(',')}`,
        options,
      );
      expect(others.body.items.map((item) => item.nickname)).toEqual(['alice', 'bob', 'carol', 'dave']);
    }
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: RestAnswer<MemberPage> = await stage.call<MemberPage>(
        node,
        'GET',
        `/v1/im/groups/${group}/members?limit=1${cursor && `&cursor=${cursor}`}`,
        { token: users[0].accessToken },
      );
      seen.push(...page.body.items.map((item) => item.uid));
      cursor = page.body.nextCursor;
    }
    expect(seen).toEqual(uids.slice(0, 3));
  });

  it('of messages stay exact: in acks, frames, pages, mentions and the conversation list', async () => {
    const mentionedUserIds = [users[2].uid, users[1].uid];
    const acks = [];
    for (const [index, client] of clients.entries()) acks.push(await say(client, `m${index}`, { mentionedUserIds }));
    const listener = clients[2];
    await until('all are heard', () => listener.heard(group).length === 3);
    const stored = await listener.historyFrom(group);
    expect(listener.heard(group)).toEqual(stored);
    expect(new Set(stored.map((message) => message.id)).size).toBe(3);
    for (const [index, message] of stored.entries()) {
      expect(BigInt(message.id)).toBeGreaterThanOrEqual(BigInt(BEYOND));
      expect(message).toMatchObject({ id: acks[index].messageId, from: users[index].uid, mentionedUserIds });
    }
    const rows = await stage.sql<{ id: string; from_user: string }>(
      'large',
      'SELECT CAST(id AS CHAR) AS id, CAST(from_user AS CHAR) AS from_user FROM im_group_messages ORDER BY seqid',
    );
    expect(rows).toEqual(stored.map((message) => ({ id: message.id, from_user: message.from })));
    const list = await stage.call<{ items: { topic: string; lastMessage: { id: string } | null }[] }>(
      node,
      'GET',
      '/v1/im/topics',
      { token: users[0].accessToken },
    );
    expect(list.body.items.map((item) => [item.topic, item.lastMessage?.id ?? null])).toEqual([
      ['grp_9007199254740990', null],
      ['grp_9007199254740991', null],
      [group, acks[2].messageId],
    ]);
  });

  it('never touch the neighbour: own deletions, cursors, recalls and kicks', async () => {
    const [first, second, third] = clients;
    const { seq } = await say(second, 'mine');
    // Carol's id is one above Bob's; as doubles hers and Dave's are the same.
    expect(await third.emit('message:recall', { topic: group, seq })).toMatchObject({ error: { code: 'FORBIDDEN' } });
    expect(await third.emit('message:delete', { topic: group, seqs: [seq] })).toMatchObject({ ok: true });
    expect((await third.historyFrom(group)).map((message) => message.seq)).not.toContain(seq);
    expect((await second.historyFrom(group)).map((message) => message.seq)).toContain(seq);
    expect(await third.emit('topic:read', { topic: group, seq })).toMatchObject({ ok: true, readSeq: seq, unread: 0 });
    expect(await first.emit('topic:read', { topic: group, seq: 1 })).toMatchObject({ ok: true, readSeq: 1 });
    const kick = await stage.call(node, 'DELETE', `/v1/im/groups/${group}/members/${users[3].uid}`, {
      token: users[0].accessToken,
    });
    expect(kick.status).toBeGreaterThanOrEqual(400);
    expect(await third.send(group, 'still here', 'yes')).toMatchObject({ error: { code: 'VALIDATION_FAILED' } });
    expect(await third.send(group, 'still-here', 'yes')).toMatchObject({ ok: true });
  });

  it.each([
    ['a number', 9007199254740992],
    ['above 2^63', '9223372036854775808'],
    ['with a sign', '+9007199254740993'],
    ['as a float', '9007199254740993.0'],
  ])('are refused when written as %s', async (_how, uid) => {
    const refusal = { ok: false, error: { code: 'VALIDATION_FAILED' } };
    expect(await clients[0].send(group, 'wrong', 'x', { mentionedUserIds: [uid] })).toMatchObject(refusal);
    expect(await clients[0].emit('message:history', { topic: `grp_${String(uid)}x` })).toMatchObject(refusal);
    expect(await clients[0].emit('topic:read', { topic: group, seq: 9007199254740992 })).toMatchObject(refusal);
  });
});
