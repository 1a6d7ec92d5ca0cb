import type { TestClient } from '../../support/client.js';
import { crowd } from '../../support/crowd.js';
import { Stage, type TestNode, type TestUser } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { MEMBERS, ROLES, type Role, type Verdict } from './rules.js';

/** Someone who knocks at both doors: sockets at one node, REST at the other. */
export interface Person extends TestUser {
  readonly client: TestClient;
}

const CHATTERS = ['side', 'blocked', 'blocker', 'stranger', 'peer of side', 'peer of blocked', 'peer of blocker'];

/** One deployment of two nodes with two tenants, and everybody the matrix needs. */
export class People {
  private constructor(
    readonly stage: Stage,
    readonly nodes: readonly TestNode[],
    readonly of: Readonly<Record<Role, Person>>,
    /** In every group, plain members: one for each role that may act on a member. */
    readonly targets: ReadonlyMap<Role, Person>,
    /** In no group: one for each role that may add. */
    readonly fresh: ReadonlyMap<Role, Person>,
    readonly otherAdmin: Person,
    readonly unwilling: Person,
    /** Those who talk to each other alone. */
    readonly chatters: ReadonlyMap<string, Person>,
  ) {}

  /** @param settings of both nodes */
  static async open(settings: Record<string, string> = {}): Promise<People> {
    const stage = await Stage.open(settings);
    const [acme, rival] = [await stage.tenant('acme', ['nobody']), await stage.tenant('rival', ['nobody'])];
    const nodes = [await stage.inProcess(), await stage.process()];
    const users = await crowd(stage, 'acme', acme, ROLES.length + 2 * MEMBERS.length + 1 + CHATTERS.length);
    const strangers = await crowd(stage, 'rival', rival, 1);
    const persons: Person[] = [];
    // One after the other: a stampede of handshakes is not what is tested here.
    for (const user of [...users, ...strangers]) {
      const connect = (): Promise<TestClient | null> => stage.connect(nodes[1], user).catch(() => null);
      persons.push({ ...user, client: await until('the node is warm', connect, 60_000) });
    }
    const foreign = persons.pop()!;
    const take = (): Person => persons.shift()!;
    const roles = ROLES.filter((role) => role !== 'foreign').map((role) => [role, take()] as const);
    const of = { ...Object.fromEntries(roles), foreign } as Record<Role, Person>;
    if (of.owner.uid !== foreign.uid) throw new Error('the foreign user has to have the uid of the owner');
    const each = (): Map<Role, Person> => new Map(MEMBERS.map((role) => [role, take()]));
    const chatters = (): Map<string, Person> => new Map(CHATTERS.map((name) => [name, take()]));
    const people = new People(stage, nodes, of, each(), each(), take(), take(), chatters());
    await people.must('owner', 'POST', '/v1/im/relations/blocklist', { uid: of.blocked.uid });
    await people.must(people.unwilling, 'PATCH', '/v1/im/users/me', { privacy: { addToGroups: 'nobody' } });
    return people;
  }

  who(role: Role | Person): Person {
    return typeof role === 'string' ? this.of[role] : role;
  }

  /** @returns what REST answers, by the first node */
  async rest(who: Role | Person, method: string, path: string, body?: unknown): Promise<Answer> {
    const token = this.who(who).accessToken;
    const answer = await this.stage.call(this.nodes[0], method, path, { token, body });
    return { verdict: answer.status < 300 ? 'ok' : (answer.body.code as Verdict), body: answer.body };
  }

  /** @returns what the socket's event answers, by the second node */
  async emit(who: Role | Person, event: string, payload: unknown): Promise<Answer> {
    const ack = await this.who(who).client.emit(event, payload);
    return { verdict: ack.ok ? 'ok' : (ack.error!.code as Verdict), body: ack };
  }

  /** For preparations: repeated as long as the answer asks for it; what is refused ends the test. */
  async must<T>(who: Role | Person, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await until(`${method} ${path} is carried out`, async () => {
      const given = await this.rest(who, method, path, body);
      return given.body.retryable === true ? null : given;
    });
    if (answer.verdict !== 'ok') throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as T;
  }

  /** Fingerprint of everything that an action could change. */
  async fingerprint(): Promise<string> {
    const names = await this.stage.sql<Record<string, string>>('acme', "SHOW TABLES LIKE 'im\\_%'");
    const tables = names.map((row) => Object.values(row)[0]).filter((name) => !PASSING.includes(name));
    return JSON.stringify(await this.stage.sql('acme', `CHECKSUM TABLE ${tables.join(', ')}`));
  }
}

/** Tables that go on by themselves, and the versions of topics: a repeated leave raises one to be confirmed once more. */
const PASSING = ['im_users', 'im_sessions', 'im_topic_seq'];

export interface Answer {
  readonly verdict: Verdict;
  readonly body: Record<string, unknown>;
}
