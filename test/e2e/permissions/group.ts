import type { Action } from './actions.js';
import type { People, Person } from './people.js';
import { MEMBERS, type Role } from './rules.js';

type Wanted = Partial<Pick<Action, 'talks' | 'settings' | 'early'>>;

/** A group in which everybody is what his role says. */
export class Group {
  /** Numbers of the messages that each said while he could; those of the targets are under `of <role>`. */
  readonly said = new Map<string, number>();
  /** What an action prepared for itself: ids, codes. */
  readonly made = new Map<string, string>();

  constructor(
    readonly people: People,
    readonly topic: string,
  ) {}

  get at(): string {
    return `/v1/im/groups/${this.topic}`;
  }

  /** @param action whatever of it matters for its making */
  static async make(people: People, { talks, settings, early }: Wanted = {}): Promise<Group> {
    const { admin, member, muted, banned, former } = people.of;
    const others = [admin, member, muted, banned, former, people.otherAdmin, ...people.targets.values()];
    const memberUids = others.map(({ uid }) => uid);
    const { topic } = await people.must<{ topic: string }>('owner', 'POST', '/v1/im/groups', { name: 'G', memberUids });
    const group = new Group(people, topic);
    if (talks) await group.sayAll();
    if (settings) await people.must('owner', 'PATCH', `${group.at}/settings`, settings);
    await early?.(group);
    const patch = (who: Person, body: object): Promise<unknown> =>
      people.must('owner', 'PATCH', `${group.at}/members/${who.uid}`, body);
    await patch(admin, { role: 'admin' });
    await patch(people.otherAdmin, { role: 'admin' });
    await patch(muted, { mutedUntil: '2099-01-01T00:00:00.000Z' });
    await people.must('owner', 'POST', `${group.at}/bans`, { uid: banned.uid });
    await people.must(former, 'DELETE', `${group.at}/members/${former.uid}`);
    return group;
  }

  /** A plain member on whom this role acts; outsiders try it on the member of the group that is called so. */
  target(role: Role): Person {
    return this.people.targets.get(role) ?? this.people.of.member;
  }

  /** Somebody outside whom this role would let in. */
  fresh(role: Role): Person {
    return this.people.fresh.get(role) ?? this.people.unwilling;
  }

  /** The own message of a role; those who never said anything try it on that of the owner. */
  own(role: Role): number {
    return this.said.get(role) ?? this.said.get('owner')!;
  }

  /** A message of somebody else that only this role acts on. */
  others(role: Role): number {
    return this.said.get(`of ${role}`) ?? this.said.get('of owner')!;
  }

  private async sayAll(): Promise<void> {
    const own: Role[] = [...MEMBERS, 'banned', 'former'];
    const speakers: [string, Person][] = own.map((role) => [role, this.people.of[role]]);
    for (const [role, person] of this.people.targets) speakers.push([`of ${role}`, person]);
    await Promise.all(
      speakers.map(async ([name, person]) => {
        const body = { clientMsgId: name.replace(' ', '-'), type: 'text', content: { text: name } };
        const path = `/v1/im/topics/${this.topic}/messages`;
        this.said.set(name, (await this.people.must<{ seq: number }>(person, 'POST', path, body)).seq);
      }),
    );
  }
}
