import { Global, Injectable, Module, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import type { Request } from 'express';
import { SignedCursors } from '../../../src/platform/http/signed-cursors.js';
import { CacheStore } from '../../../src/platform/redis/cache-store.js';
import { KeyRemovals } from '../../../src/platform/redis/key-removals.js';
import { KnownServer } from '../../../src/platform/redis/known-server.js';
import { LeaseCaches } from '../../../src/platform/redis/lease-caches.js';
import { ENV } from '../../../src/platform/env/env.js';
import { setActor } from '../../../src/platform/http/actor.js';
import { ProblemFilter } from '../../../src/platform/http/problem.filter.js';
import { DtoValidationPipe } from '../../../src/platform/http/validation.pipe.js';
import { asUserId, type UserId } from '../../../src/platform/ids/ids.js';
import {
  TenantConnections,
  TenantDataSources,
  TENANT_SCHEMA,
} from '../../../src/platform/mysql/tenant-data-sources.js';
import { Logger } from '../../../src/platform/observe/logger.js';
import { Metrics } from '../../../src/platform/observe/metrics.js';
import { RedisKeys } from '../../../src/platform/redis/keys.js';
import { RedisClients } from '../../../src/platform/redis/redis-clients.js';
import { RedisScripts } from '../../../src/platform/redis/redis-scripts.js';
import { SocketServer } from '../../../src/platform/socket/socket-server.js';
import { GroupModule } from '../../../src/modules/group/group.module.js';
import { PresenceModule } from '../../../src/modules/presence/presence.module.js';
import { PresenceService } from '../../../src/modules/presence/presence.service.js';
import { TenantService } from '../../../src/modules/tenant/tenant.service.js';
import { schemas } from '../../../src/schema.js';
import { World } from './world.js';

let world: World;
let app: NestExpressApplication;
let base: string;
let confirmed = true;

/** Stands for the token check: the test says who asks. */
@Injectable()
class HeaderGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    setActor(request, world.actor(asUserId(String(request.headers['x-uid']))));
    return true;
  }
}

@Module({
  providers: [{ provide: PresenceService, useValue: { askLivingNodes: () => Promise.resolve(confirmed) } }],
  exports: [PresenceService],
})
class FakePresenceModule {}

function platform(): unknown {
  const provided = [
    CacheStore,
    KeyRemovals,
    KnownServer,
    LeaseCaches,
    SignedCursors,
    { provide: ENV, useValue: world.env },
    { provide: TENANT_SCHEMA, useValue: schemas.tenant },
    { provide: TenantConnections, useValue: world.connections },
    { provide: TenantService, useValue: { get: () => ({ settings: {} }) } },
    { provide: SocketServer, useValue: { emit: () => undefined } },
    Logger,
    Metrics,
    RedisKeys,
    RedisClients,
    RedisScripts,
    TenantDataSources,
  ];
  @Global()
  @Module({ providers: [...provided, { provide: APP_GUARD, useClass: HeaderGuard }], exports: provided })
  class FakePlatform {}
  return FakePlatform;
}

beforeAll(async () => {
  world = await World.open();
  const built = await Test.createTestingModule({ imports: [platform() as never, GroupModule] })
    .overrideModule(PresenceModule)
    .useModule(FakePresenceModule)
    .compile();
  app = built.createNestApplication<NestExpressApplication>({ logger: false });
  app.useGlobalPipes(new DtoValidationPipe());
  app.useGlobalFilters(new ProblemFilter(app.get(Logger)));
  await app.listen(0, '127.0.0.1');
  base = await app.getUrl();
});
afterEach(() => (confirmed = true));
afterAll(async () => {
  await app.close();
  await world.close();
});

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function call(uid: UserId, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(`${base}/v1/im/groups${path}`, {
    method,
    headers: { 'x-uid': uid, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

it('carries a group through its life', async () => {
  const [owner, x, y] = await world.users(3);
  const made = await call(owner, 'POST', '', { name: 'Crew', memberUids: [x] });
  expect(made).toEqual({
    status: 201,
    body: { groupId: expect.any(String), topic: `grp_${made.body.groupId as string}` },
  });
  const at = `/${made.body.topic as string}`;
  expect(await call(owner, 'POST', `${at}/members`, { uids: [x, y] })).toEqual({
    status: 200,
    body: { added: [y], memberCount: 3 },
  });
  expect((await call(x, 'GET', at)).body).toMatchObject({
    name: 'Crew',
    ownerUid: owner,
    memberCount: 3,
    role: 'member',
  });
  expect((await call(owner, 'PATCH', at, { name: 'Team' })).body).toMatchObject({ name: 'Team', intro: '' });
  expect((await call(owner, 'PATCH', `${at}/settings`, { muteAll: true })).body).toMatchObject({ muteAll: true });
  expect((await call(owner, 'PATCH', `${at}/members/${x}`, { role: 'admin' })).status).toBe(204);
  const muted = '2099-01-01T00:00:00.000Z';
  expect((await call(x, 'PATCH', `${at}/members/${y}`, { mutedUntil: muted })).status).toBe(204);
  const listed = await call(y, 'GET', `${at}/members?limit=2`);
  expect(listed.body).toMatchObject({
    total: 3,
    items: [
      { uid: owner, role: 'owner' },
      { uid: x, role: 'admin' },
    ],
  });
  const rest = await call(y, 'GET', `${at}/members?limit=2&cursor=${listed.body.nextCursor as string}`);
  expect(rest.body).toMatchObject({ nextCursor: null, items: [{ uid: y, mutedUntil: muted, user: { uid: y } }] });
  expect((await call(x, 'DELETE', `${at}/members/${y}`)).status).toBe(204);
  expect((await call(y, 'GET', at)).body).toMatchObject({ code: 'NOT_MEMBER', status: 403 });
  expect((await call(owner, 'DELETE', `${at}/members/${owner}`)).body).toMatchObject({ code: 'CONFLICT', status: 409 });
  expect((await call(owner, 'POST', `${at}/transfer`, { uid: x })).status).toBe(204);
  expect((await call(owner, 'DELETE', `${at}/members/${owner}`)).status).toBe(204);
  expect((await call(x, 'DELETE', at)).status).toBe(204);
  expect((await call(x, 'GET', at)).body).toMatchObject({ code: 'GROUP_DISMISSED', status: 410 });
});

it('says that an unconfirmed kick may be repeated', async () => {
  const [owner, x] = await world.users(2);
  const made = await call(owner, 'POST', '', { name: 'Crew', memberUids: [x] });
  const path = `/${made.body.topic as string}/members/${x}`;
  confirmed = false;
  expect((await call(owner, 'DELETE', path)).body).toMatchObject({
    code: 'SHORT_STATE_UNAVAILABLE',
    status: 503,
    retryable: true,
    detail: 'The change is stored but not yet confirmed on all nodes; repeat the call.',
  });
  confirmed = true;
  expect((await call(owner, 'DELETE', path)).status).toBe(204);
});

const BAD: [method: string, path: string, body?: unknown][] = [
  ['GET', '/p2p_1_2'],
  ['GET', '/grp_0'],
  ['GET', '/grp_1%20'],
  ['GET', '/undefined'],
  ['GET', "/grp_1'%20OR%201=1"],
  ['DELETE', '/grp_9223372036854775808'],
  ['DELETE', '/grp_1/members/0'],
  ['DELETE', '/grp_1/members/1,2'],
  ['DELETE', '/grp_1/members/undefined'],
  ['PATCH', '/grp_1', {}],
  ['PATCH', '/grp_1', []],
  ['PATCH', '/grp_1', { ownerUid: '1' }],
  ['PATCH', '/grp_1/settings', {}],
  ['PATCH', '/grp_1/members/1', {}],
  ['PATCH', '/grp_1/members/1', { state: 'active' }],
  ['POST', '/grp_1/members', { uids: { not: 1 } }],
  ['POST', '/grp_1/transfer', { uid: {} }],
  ['POST', '', { name: 'x', memberUids: ['1 OR 1'] }],
  ['GET', '/grp_1/members?limit=-1'],
  ['GET', '/grp_1/members?q[a]=1'],
  ['GET', '/grp_1/members?cursor=AAAA'],
];

it.each(BAD.map(([method, path, body]) => ({ method, path, body })))(
  '$method $path $body is a bad request',
  async ({ method, path, body }) => {
    const answer = await call(asUserId('1'), method, path, body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  },
);
