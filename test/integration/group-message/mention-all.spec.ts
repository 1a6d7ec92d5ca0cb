import { SendRules } from '../../../src/modules/group-message/send-rules.js';
import type { MessageDraft } from '../../../src/modules/group-message/group-message.types.js';
import type { Application } from '../../../src/application.js';
import { asTenantId, asTopic, asUserId } from '../../../src/platform/ids/ids.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';

const PER_HOUR = 10;
let stage: Stage;
let node: TestNode & { readonly application: Application };
let alice: TestUser;
let tenant: string;

beforeAll(async () => {
  stage = await Stage.open();
  tenant = await stage.tenant('acme', ['alice']);
  node = await stage.inProcess();
  alice = await stage.login(node, 'acme', 'alice');
}, 60_000);
afterAll(() => stage.close());

it('everybody is called ten times an hour; what is sent again because it was not stored counts once', async () => {
  const topic = await stage.group(node, alice, []);
  const rules = node.application.nest.get(SendRules, { strict: false });
  const actor = { tenant: asTenantId(tenant), uid: asUserId(alice.uid), sessionId: '1' };
  const draftOf = (clientMsgId: string): MessageDraft =>
    ({ topic: asTopic(topic), clientMsgId, mentionAll: true, replySeq: null, rootSeq: null }) as MessageDraft;
  // As a client does whose message cannot be numbered for a while: the check runs at each try, and nothing is stored.
  for (let retry = 0; retry < PER_HOUR * 3; retry += 1) await rules.check(actor, draftOf('again'));
  const client = await stage.connect(node, alice);
  for (let index = 1; index < PER_HOUR; index += 1) {
    expect(await client.send(topic, `m${index}`, 'all!', { mentionAll: true })).toMatchObject({ ok: true });
  }
  const over = await client.send(topic, 'one-more', 'all!', { mentionAll: true });
  expect(over).toMatchObject({ ok: false, error: { code: 'RATE_LIMITED', retryable: true } });
  expect(await client.send(topic, 'again', 'all!', { mentionAll: true })).toMatchObject({ ok: true });
  expect(await client.send(topic, 'plain', 'me')).toMatchObject({ ok: true });
});
