import { RelationService } from '../../../src/modules/relation/relation.service.js';
import { asTenantId, asUserId, type TenantId, type UserId } from '../../../src/platform/ids/ids.js';
import { Stage } from '../../support/stage.js';

let stage: Stage;
let tenant: TenantId;
let relations: RelationService;
let uids: UserId[];

const sql = (text: string, values: unknown[]) => stage.sql('demo', text, values);

beforeAll(async () => {
  stage = await Stage.open();
  tenant = asTenantId(await stage.tenant('demo', ['anna', 'bert', 'cleo', 'dora']));
  await sql("INSERT INTO im_users (account, nickname, status) VALUES ('gone', 'gone', 'disabled')", []);
  const rows = await sql('SELECT id FROM im_users ORDER BY id', []);
  uids = (rows as { id: string }[]).map((row) => asUserId(row.id));
  const node = await stage.inProcess();
  relations = node.application.nest.get(RelationService);
}, 30_000);
afterAll(() => stage.close());

it('shows presence as the target and blocks say', async () => {
  const [anna, bert, cleo, dora] = uids;
  await sql("INSERT INTO im_user_privacy (uid, presence, last_seen) VALUES (?, 'friends', 'nobody')", [bert]);
  await relations.befriend(tenant, bert, dora);
  await sql('INSERT INTO im_blocks (uid, blocked_uid) VALUES (?, ?)', [cleo, anna]);
  const nobody = asUserId('999999');
  const seen = await relations.presenceVisibility(tenant, anna, [anna, bert, cleo, dora, nobody]);
  const [all, none] = [
    { presence: true, lastSeen: true },
    { presence: false, lastSeen: false },
  ];
  expect([...seen]).toEqual([
    [anna, all],
    [bert, none],
    [cleo, none],
    [dora, all],
    [nobody, none],
  ]);
  expect((await relations.presenceVisibility(tenant, dora, [bert])).get(bert)).toEqual({
    presence: true,
    lastSeen: false,
  });
  // The one who blocked is not shown the other, either.
  expect((await relations.presenceVisibility(tenant, cleo, [anna])).get(anna)).toEqual(none);
});

it('says who may start a chat', async () => {
  const [anna, bert, cleo, , gone] = uids;
  expect(await relations.mayStartChat(tenant, anna, bert)).toBeNull();
  expect(await relations.mayStartChat(tenant, anna, cleo)).toBe('BLOCKED');
  expect(await relations.mayStartChat(tenant, cleo, anna)).toBe('BLOCKED');
  expect(await relations.mayStartChat(tenant, anna, gone)).toBe('NOT_FOUND');
  expect(await relations.mayStartChat(tenant, anna, asUserId('999999'))).toBe('NOT_FOUND');
  expect(await relations.mayStartChat(tenant, anna, anna)).toBe('NOT_FOUND');
  expect(await relations.blockedEitherWay(tenant, cleo, anna)).toBe(true);
  expect(await relations.blockedEitherWay(tenant, bert, anna)).toBe(false);
});
