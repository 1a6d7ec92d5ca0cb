import { asUserId } from '../../../src/platform/ids/ids.js';
import { directTopic } from '../../../src/platform/ids/topic.js';
import { crowd } from '../../support/crowd.js';
import { Stage, type RestAnswer, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { Schemas, operationsOf, type ApiDocument, type Described } from './document.js';

/** One node and its document, users of two tenants, and something of everything that a path can name. */
export class ContractWorld {
  private constructor(
    readonly stage: Stage,
    readonly node: TestNode,
    readonly tenant: string,
    readonly schemas: Schemas,
    readonly operations: readonly Described[],
    readonly alice: TestUser,
    readonly others: readonly TestUser[],
    readonly mallory: TestUser,
  ) {}

  static async open(): Promise<ContractWorld> {
    const stage = await Stage.open();
    const tenant = await stage.tenant('acme', ['alice'], { registration: 'open' });
    const rival = await stage.tenant('rival', ['nobody', 'somebody']);
    const node = await stage.inProcess();
    const document = (await stage.call<ApiDocument>(node, 'GET', '/docs-json')).body;
    const alice = await stage.login(node, 'acme', 'alice');
    const others = await crowd(stage, 'acme', tenant, 6);
    const [mallory] = await crowd(stage, 'rival', rival, 1);
    const schemas = new Schemas(document);
    return new ContractWorld(stage, node, tenant, schemas, operationsOf(document), alice, others, mallory);
  }

  get chat(): string {
    return directTopic(asUserId(this.alice.uid), asUserId(this.others[0].uid));
  }

  /** Repeated while the node has too much to do, and when it closed an idle connection just as a call was written to it. */
  call(user: TestUser | string | null, method: string, path: string, body?: unknown): Promise<RestAnswer> {
    const token = user === null ? undefined : typeof user === 'string' ? user : user.accessToken;
    return until(`${method} ${path.slice(0, 80)} is answered`, async () => {
      const answer = await this.stage.call(this.node, method, path, { token, body }).catch((error: Error) => {
        if (error instanceof TypeError) return null;
        throw error;
      });
      return answer?.status === 503 && answer.body.retryable === true ? null : answer;
    });
  }

  /** Ids and names that are right, by the names of path parameters. */
  async parameters(): Promise<Record<string, string>> {
    const { alice, others } = this;
    const made = async (path: string, body: object, who = alice): Promise<Record<string, string>> =>
      (await this.call(who, 'POST', path, body)).body as Record<string, string>;
    const { topic } = await made('/v1/im/groups', { name: 'Group', memberUids: [others[0].uid, others[1].uid] });
    await made(`/v1/im/topics/${topic}/messages`, { clientMsgId: 'm', type: 'text', content: { text: 'hello' } });
    const { id } = await made(`/v1/im/groups/${topic}/announcements`, { content: 'Known to all' });
    const { code } = await made(`/v1/im/groups/${topic}/invites`, {});
    const { uid } = others[0];
    return { topic, id, code, uid, seq: '1', tenant: this.tenant, group: 'im', key: 'k', type: 'colours', kind: 'oss' };
  }

  /** Fingerprint of everything that is stored for the tenant, and of all tenants. */
  async fingerprint(): Promise<string> {
    const sums = await Promise.all(['acme', 'rival', 'control'].map((code) => this.sumsOf(code)));
    return JSON.stringify(sums);
  }

  private async sumsOf(code: string): Promise<unknown> {
    const names = await this.stage.sql<Record<string, string>>(code, 'SHOW TABLES');
    const tables = names.map((row) => Object.values(row)[0]).filter((name) => !PASSING.includes(name));
    return this.stage.sql(code, `CHECKSUM TABLE ${tables.join(', ')}`);
  }
}

/** Tables that go on by themselves; codes that were refused are none of the things that a call is about. */
const PASSING = ['im_users', 'im_sessions', 'im_captchas'];
