import { asUserId } from '../../../src/platform/ids/ids.js';
import { directTopic } from '../../../src/platform/ids/topic.js';
import type { People, Person } from './people.js';
import { SIDES, type Side } from './rules.js';

/** Those who have a chat of their own here; the others try the doors of the plain one. */
const OWN: readonly Side[] = ['side', 'blocked', 'blocker'];

/** Private chats in which both sides have said something, and the blocks between them. */
export class Chats {
  private readonly said = new Map<string, number>();
  private static round = 0;

  private constructor(
    readonly people: People,
    private readonly round: number,
  ) {}

  static async make(people: People): Promise<Chats> {
    Chats.round += 1;
    const chats = new Chats(people, Chats.round);
    for (const side of SIDES.filter((one) => one !== 'foreign')) {
      const [me, peer] = [chats.actor(side), chats.peer(side)];
      await people.must(me, 'DELETE', `/v1/im/relations/blocklist/${peer.uid}`);
      await people.must(peer, 'DELETE', `/v1/im/relations/blocklist/${me.uid}`);
      if (!OWN.includes(side)) continue;
      chats.said.set(`own ${side}`, await chats.say(me, side, 'mine'));
      chats.said.set(`others ${side}`, await chats.say(peer, side, 'yours'));
    }
    const block = (who: Person, whom: Person): Promise<unknown> =>
      people.must(who, 'POST', '/v1/im/relations/blocklist', { uid: whom.uid });
    await block(chats.peer('blocked'), chats.actor('blocked'));
    await block(chats.actor('blocker'), chats.peer('blocker'));
    return chats;
  }

  actor(side: Side): Person {
    return side === 'foreign' ? this.people.of.foreign : this.people.chatters.get(side)!;
  }

  /** The other side; that of the plain chat for those who have none. */
  peer(side: Side): Person {
    return this.people.chatters.get(`peer of ${OWN.includes(side) ? side : 'side'}`)!;
  }

  topic(side: Side): string {
    const me = OWN.includes(side) ? side : 'side';
    return directTopic(asUserId(this.actor(me).uid), asUserId(this.peer(me).uid));
  }

  own(side: Side): number {
    return this.said.get(`own ${side}`) ?? this.said.get('own side')!;
  }

  others(side: Side): number {
    return this.said.get(`others ${side}`) ?? this.said.get('others side')!;
  }

  /** A client id that no other message has. */
  id(what: string): string {
    return `${what}-${this.round}`;
  }

  private async say(who: Person, side: Side, text: string): Promise<number> {
    const body = { clientMsgId: this.id(text), type: 'text', content: { text } };
    const path = `/v1/im/topics/${this.topic(side)}/messages`;
    return (await this.people.must<{ seq: number }>(who, 'POST', path, body)).seq;
  }
}
