import { randomUUID } from 'node:crypto';
import type { PageAck, TestClient } from '../support/client.js';
import type { FaultStage } from '../support/fault-stage.js';
import { until } from '../support/until.js';

/** A message whose text must not be readable anywhere once it was recalled. */
export class Secret {
  private readonly text = `secret ${randomUUID()}`;
  seq = 0;

  private constructor(
    private readonly topic: string,
    /** One a node. */
    private readonly clients: readonly TestClient[],
  ) {}

  static async send(faults: FaultStage): Promise<Secret> {
    const clients = await Promise.all(faults.nodes.map((node) => faults.stage.connect(node, faults.users[0])));
    const secret = new Secret(faults.topic, clients);
    const id = faults.nextId();
    await until('the secret is stored', async () => {
      const ack = await clients[0].send(faults.topic, id, secret.text);
      secret.seq = ack.seq;
      return ack.ok;
    });
    return secret;
  }

  /** Reads the secret out of the hot set through every node, so that there is a copy to be afraid of. */
  async readHot(): Promise<void> {
    for (const node of this.clients.keys()) {
      await until('the secret is read out of the hot set', async () => {
        const page = await this.page(node);
        return page.source === 'hot' && JSON.stringify(page).includes(this.text);
      });
    }
  }

  async recall(node = 1): Promise<void> {
    const payload = { topic: this.topic, seq: this.seq };
    await until('the secret is recalled', async () => (await this.clients[node].emit('message:recall', payload)).ok);
  }

  page(node: number): Promise<PageAck> {
    return this.clients[node].history(this.topic, { afterSeq: this.seq - 1, limit: 5 });
  }

  /** The recalled message is there, its text is not, whichever way it is read. */
  async expectGone(nodes: readonly number[] = [0, 1]): Promise<void> {
    const queries = [
      { afterSeq: this.seq - 1, limit: 5 },
      { beforeSeq: this.seq + 1, limit: 5 },
    ];
    for (const client of nodes.map((node) => this.clients[node])) {
      for (const query of queries) {
        const page = await until('the page is answered', async () => {
          const answer = await client.history(this.topic, query);
          return answer.ok && answer;
        });
        expect(JSON.stringify(page)).not.toContain(this.text);
        const message = page.messages.find(({ seq }) => seq === this.seq);
        expect(message).toMatchObject({ status: 'recalled', content: null });
      }
    }
  }
}
