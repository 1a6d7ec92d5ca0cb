import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
it('an edit of what was sent before a member joined tells him nothing where he may not read it, only to ask', async () => {
  const stage = await Stage.open();
  await stage.tenant('demo', ['alice', 'bob']);
  const one = await stage.inProcess();
  const [alice, bob] = await Promise.all(['alice', 'bob'].map((name) => stage.login(one, 'demo', name)));
  const topic = await stage.group(one, alice, []);
  const answer = await stage.call(one, 'PATCH', `/v1/im/groups/${topic}/settings`, {
    token: alice.accessToken,
    body: { historyForNewMembers: false },
  });
  expect(answer.status).toBeLessThan(300);
  const a = await stage.connect(one, alice);
  const seq = (await a.send(topic, 'm1', 'before bob')).seq;
  await stage.call(one, 'POST', `/v1/im/groups/${topic}/members`, {
    token: alice.accessToken,
    body: { uids: [bob.uid] },
  });
  const b = await stage.connect(one, bob);
  expect(await a.emit('message:edit', { topic, seq, content: { text: 'edited secret' }, version: 1 })).toMatchObject({
    ok: true,
  });
  await until('resync', () => b.events('topic:resync').length === 1);
  expect(b.events('topic:resync')[0]).toEqual({ topics: [topic] });
  expect(b.events('message:changed')).toEqual([]);
  expect(await b.emit('topic:changes', { topic, afterChange: 0 })).toMatchObject({
    ok: true,
    changes: [],
    lastChange: 1,
  });
  expect((await b.history(topic, {})).messages).toEqual([]);
  await stage.close();
}, 60000);
