import { Stage, type TestNode } from '../../support/stage.js';
import { metricsOf } from './metrics.js';
import { readText } from '../../unit/house/sources.js';

interface Operation {
  readonly summary?: string;
  readonly security?: unknown[];
  readonly requestBody?: { readonly content?: Record<string, { readonly schema?: object }> };
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema?: object }> }>;
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, { readonly properties?: Record<string, object> }> };
}

interface Layer {
  readonly route?: { readonly path: string; readonly methods: Record<string, boolean> };
}

const OPEN = [
  ...['enterprise', 'register', 'login', 'refresh', 'password/reset'],
  ...['captchas', 'captchas/{id}/verify'],
].map((name) => `post /v1/auth/${name}`);

const WITHOUT_BODY = ['get', 'delete'];
/** The address says it all. */
const POSTS_WITHOUT_BODY = [
  'post /v1/im/topics/{topic}/messages/{seq}/recall',
  'post /v1/im/relations/friend-requests/{id}/accept',
  'post /v1/im/relations/friend-requests/{id}/reject',
  'post /v1/im/groups/{topic}/join-requests/{id}/approve',
  'post /v1/im/groups/{topic}/join-requests/{id}/reject',
  'post /v1/im/groups/{topic}/announcements/{id}/confirm',
  'post /v1/im/invites/{code}/accept',
  'post /v1/admin/tenants/{tenant}/disable',
  'post /v1/admin/tenants/{tenant}/enable',
  'post /v1/admin/tenants/{tenant}/users/{uid}/disable',
  'post /v1/admin/tenants/{tenant}/users/{uid}/enable',
  'post /v1/admin/reload',
  'post /v1/admin/secrets/reseal',
];

describe('REST as it tells of itself', () => {
  let stage: Stage;
  let node: TestNode;
  let document: Document;
  /** `get /v1/im/users/{uid}` */
  let routes: string[];
  let operations: [string, Operation][];

  beforeAll(async () => {
    stage = await Stage.open();
    const started = await stage.inProcess();
    node = started;
    const express = started.application.nest.getHttpAdapter().getInstance() as { router: { stack: Layer[] } };
    routes = express.router.stack.flatMap(({ route }) =>
      route ? Object.keys(route.methods).map((method) => `${method} ${route.path.replace(/:(\w+)/g, '{$1}')}`) : [],
    );
    document = (await stage.call<Document>(node, 'GET', '/docs-json')).body;
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
    );
  });
  afterAll(() => stage.close());

  it('lists every route below /v1, and no other', () => {
    const real = routes.filter((route) => route.includes(' /v1/')).sort();
    expect(real.length).toBeGreaterThan(20);
    expect(operations.map(([name]) => name).sort()).toEqual(real);
  });

  it('says of every call what it does and what it answers', () => {
    const poor = operations.filter(([, { summary, responses }]) => {
      const [status, answer] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? [];
      const schema = answer?.content?.['application/json']?.schema;
      return !summary || status === undefined || (status !== '204' && !schema);
    });
    expect(poor.map(([name]) => name)).toEqual([]);
  });

  it('says of every call with a body what it takes', () => {
    const calls = operations.filter(
      ([name]) => !WITHOUT_BODY.includes(name.split(' ')[0]) && !POSTS_WITHOUT_BODY.includes(name),
    );
    const poor = calls.filter(([, operation]) => !operation.requestBody?.content?.['application/json']?.schema);
    expect(poor.map(([name]) => name)).toEqual([]);
  });

  it('has a type for every field', () => {
    const poor = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, field]) => !('type' in field || '$ref' in field || 'allOf' in field || 'oneOf' in field))
        .map(([field]) => `${name}.${field}`),
    );
    expect(poor).toEqual([]);
  });

  it('asks for a token everywhere but at the doors of the log-in', async () => {
    const refused = await Promise.all(
      operations
        .filter(([name]) => !OPEN.includes(name))
        .map(async ([name]) => {
          const [method, path] = name.split(' ');
          const body = WITHOUT_BODY.includes(method) ? undefined : {};
          const answer = await stage.call(node, method.toUpperCase(), path.replace(/\{\w+\}/g, '1'), { body });
          return `${name} ${answer.status} ${answer.body.code ?? ''}`;
        }),
    );
    expect(refused.filter((line) => !line.endsWith(' 401 UNAUTHENTICATED'))).toEqual([]);
    const marked = operations.filter(([, operation]) => operation.security !== undefined).map(([name]) => name);
    expect(marked.sort()).toEqual(
      operations
        .map(([name]) => name)
        .filter((name) => !OPEN.includes(name))
        .sort(),
    );
  });

  it('refuses a body that is no JSON, too large or not asked for, as a problem document', async () => {
    const send = (body: string, type = 'application/json') =>
      fetch(`${node.url}/v1/auth/enterprise`, { method: 'POST', headers: { 'content-type': type }, body });
    for (const [body, status, code] of [
      ['{', 400, 'VALIDATION_FAILED'],
      ['[]', 400, 'VALIDATION_FAILED'],
      ['"demo"', 400, 'VALIDATION_FAILED'],
      ['{"code":"demo","admin":true}', 400, 'VALIDATION_FAILED'],
      ['{"code":"demo","__proto__":{"a":1}}', 400, 'VALIDATION_FAILED'],
      [JSON.stringify({ code: 'x'.repeat(70_000) }), 413, 'PAYLOAD_TOO_LARGE'],
    ] as const) {
      const answer = await send(body);
      expect([body.slice(0, 40), answer.status]).toEqual([body.slice(0, 40), status]);
      expect(answer.headers.get('content-type')).toContain('application/problem+json');
      expect(await answer.json()).toMatchObject({
        status,
        code,
        retryable: false,
        requestId: expect.any(String) as string,
      });
    }
  });

  it('is all on docs/protocol.md', () => {
    const page = readText('docs/protocol.md');
    const written = [...page.matchAll(/`([A-Z, ]+) (\/v1\/[^`?]*?)(?:\?[^`]*)?`/g)].flatMap(([, methods, path]) =>
      methods.split(', ').map((method) => `${method.toLowerCase()} ${path}`),
    );
    expect([...new Set(written)].sort()).toEqual(operations.map(([name]) => name).sort());
  });

  it('has every metric that the page for operators explains', async () => {
    const metrics = await metricsOf(node);
    const explained = [...readText('docs/operations.md').matchAll(/^\| `(im_\w+)/gm)].map(([, name]) => name);
    expect(explained.filter((name) => !metrics.includes(`# TYPE ${name} `))).toEqual([]);
  });
});
