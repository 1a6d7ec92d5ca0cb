import { hashSync } from '@node-rs/argon2';
import { createApplication, type Application } from '../../src/application.js';
import { TenantProvisioning } from '../../src/modules/tenant/tenant.provisioning.js';
import { loadEnv, type Env } from '../../src/platform/env/env.js';
import { queryOnce } from '../../src/platform/mysql/query-once.js';
import { schemas } from '../../src/schema.js';
import { TestClient } from './client.js';
import { databaseAt, freshName, givenServers, nodeEnvironment, type ServerUrls } from './environment.js';
import { freePort, NodeProcess } from './nodes.js';

export const PASSWORD = 'demo-pass-1';
/** argon2id, cheap: what is tested here is not its cost. */
const PASSWORD_HASH = hashSync(PASSWORD, { algorithm: 2, memoryCost: 8192, timeCost: 1, parallelism: 1 });
const SQL_TIMEOUT_MS = 5_000;

export interface RestAnswer<T = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T & { code?: string };
}

export interface TestUser {
  readonly uid: string;
  readonly account: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** A node that a test talks to: a process of its own, or an application inside the test. */
export interface TestNode {
  readonly url: string;
}

/**
 * One deployment for one test file: a control database, tenants and a key prefix of its own on real servers, and nodes.
 * Everything is asked over the wire, as a stranger would.
 */
export class Stage {
  readonly environment: Record<string, string>;
  private readonly databases: string[] = [];
  private readonly processes: NodeProcess[] = [];
  private readonly applications: Application[] = [];
  private readonly clients: TestClient[] = [];

  private constructor(
    readonly name: string,
    readonly servers: ServerUrls,
    settings: Record<string, string>,
  ) {
    this.environment = nodeEnvironment(name, servers, settings);
    this.databases.push(`${name}_control`);
  }

  static async open(settings: Record<string, string> = {}, servers: ServerUrls = givenServers()): Promise<Stage> {
    const stage = new Stage(freshName(), servers, settings);
    await stage.provision(async () => undefined);
    return stage;
  }

  /** Makes a tenant with accounts that all have the same password. */
  async tenant(code: string, accounts: readonly string[], settings: object = {}): Promise<string> {
    const dbName = `${this.name}_${code}`;
    this.databases.push(dbName);
    const id = await this.provision((provisioning) => provisioning.create({ code, name: code, dbName, settings }));
    await this.addUsers(code, accounts);
    return id;
  }

  async addUsers(code: string, accounts: readonly string[]): Promise<void> {
    const now = new Date();
    const rows = accounts.map((account) => [account, account, PASSWORD_HASH, now, now]);
    await this.sql(code, 'INSERT INTO im_users (account, nickname, password_hash, created_at, updated_at) VALUES ?', [
      rows,
    ]);
  }

  sql<T>(code: string, statement: string, values: unknown[] = []): Promise<T[]> {
    return queryOnce<T>(databaseAt(this.servers, `${this.name}_${code}`), SQL_TIMEOUT_MS, statement, values);
  }

  /** A node in a process of its own (`dist/main.js`). */
  async process(settings: Record<string, string> = {}): Promise<NodeProcess> {
    const node = await NodeProcess.start({ ...this.environment, ...settings });
    this.processes.push(node);
    return node;
  }

  /** A node inside this process: quick, and its services can be reached. */
  async inProcess(settings: Record<string, string> = {}): Promise<TestNode & { readonly application: Application }> {
    const port = await freePort();
    const env: Env = loadEnv({ ...this.environment, ...settings, PORT: String(port) });
    const application = await createApplication(env);
    this.applications.push(application);
    await application.start();
    return { url: `http://127.0.0.1:${port}`, application };
  }

  async call<T = Record<string, unknown>>(
    node: TestNode,
    method: string,
    path: string,
    options: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<RestAnswer<T>> {
    const response = await fetch(`${node.url}${path}`, {
      method,
      headers: {
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...options.headers,
      },
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === '' ? {} : JSON.parse(text)) as T & { code?: string },
    };
  }

  async login(node: TestNode, code: string, account: string): Promise<TestUser> {
    const { body: ticket } = await this.call<{ loginToken: string }>(node, 'POST', '/v1/auth/enterprise', {
      body: { code },
    });
    const { status, body } = await this.call<Omit<TestUser, 'account'>>(node, 'POST', '/v1/auth/login', {
      body: { loginToken: ticket.loginToken, account, password: PASSWORD },
    });
    if (!body.accessToken) throw new Error(`login of ${account}: ${status} ${JSON.stringify(body)}`);
    return { ...body, account };
  }

  async connect(node: TestNode, user: TestUser, auth: Record<string, unknown> = {}): Promise<TestClient> {
    const client = await TestClient.connect(node.url, { token: user.accessToken, ...auth });
    this.clients.push(client);
    return client;
  }

  /** A group of the owner and the others. @returns its topic */
  async group(node: TestNode, owner: TestUser, others: readonly TestUser[], name = 'group'): Promise<string> {
    const { status, body } = await this.call<{ topic: string }>(node, 'POST', '/v1/im/groups', {
      token: owner.accessToken,
      body: { name, memberUids: others.map((user) => user.uid) },
    });
    if (!body.topic) throw new Error(`group: ${status} ${JSON.stringify(body)}`);
    return body.topic;
  }

  async close(): Promise<void> {
    for (const client of this.clients) client.close();
    await Promise.all(this.applications.map((application) => application.stop()));
    await Promise.all(this.processes.map((node) => node.stop()));
    for (const database of this.databases) {
      const server = { ...databaseAt(this.servers, ''), database: '' };
      await queryOnce(server, SQL_TIMEOUT_MS, `DROP DATABASE IF EXISTS \`${database}\``).catch(() => undefined);
    }
  }

  private async provision<T>(work: (provisioning: TenantProvisioning) => Promise<T>): Promise<T> {
    const provisioning = await TenantProvisioning.open(loadEnv({ ...this.environment, PORT: '1' }), schemas);
    try {
      return await work(provisioning);
    } finally {
      await provisioning.close();
    }
  }
}
