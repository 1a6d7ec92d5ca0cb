import { Injectable } from '@nestjs/common';
import { asSeq, type Actor, type Seq, type TenantId, type Topic, type UserId } from '../../platform/ids/ids.js';
import { Logger } from '../../platform/observe/logger.js';
import { Metrics } from '../../platform/observe/metrics.js';
import { topicRoom, userRoom } from '../../platform/socket/rooms.js';
import { SocketServer } from '../../platform/socket/socket-server.js';
import { RawJson } from '../../platform/wire/raw-json.js';
import { GroupService } from '../group/group.service.js';
import { GroupMessageStore } from './group-message.store.js';
import type { Message, Quote } from './group-message.types.js';
import { changedMessage, messageOf } from './message-row.js';
import { MAX_QUOTE_BYTES, quotedSeq, quotingMessage } from './quote.js';
import { QuoteService } from './quote.service.js';

const MAX_FRAME_BYTES = 128 * 1024;
/** A frame that waited longer for its quotes is compared with what is stored: another node may have changed it meanwhile. */
const LOOK_AGAIN_AFTER_MS = 50;
/** That takes no longer, or the members are told to ask. */
const LOOK_AGAIN_MS = 300;

/** A message as text, made once for the hot set and the frames; a page's row is one. */
interface Sized {
  readonly seq: number;
  /** JSON. */
  readonly text: string;
  /** Of the text, with the comma that parts it from the next. */
  readonly bytes: number;
}

/** A message that waits for its frame. */
interface Waiting extends Sized {
  /** The message, when it quotes another one. */
  readonly quoting: Message | null;
}

interface Pending {
  messages: Waiting[];
  readonly voids: Seq[];
  stableSeq: number;
  /** Messages that were changed while it waits: a quote that was composed before shows what is no longer there. */
  readonly changed: Set<Seq>;
}

/**
 * Realtime delivery after the acknowledgement was decided: it can fail without failing a send, since clients pull what
 * they miss. Messages of a topic that are ready in the same turn of the event loop leave in one frame, by seq.
 */
@Injectable()
export class FanoutService {
  private readonly pending = new Map<string, Pending>();
  /** Of topics whose frame waits for its quotes: what is in it. */
  private readonly composing = new Map<string, Pending>();
  private readonly frames;

  constructor(
    private readonly sockets: SocketServer,
    private readonly store: GroupMessageStore,
    private readonly groups: GroupService,
    private readonly quotes: QuoteService,
    private readonly log: Logger,
    metrics: Metrics,
  ) {
    this.frames = metrics.counter('im_fanout_frames_total', 'Frames handed to the adapter', ['result']);
  }

  message(tenant: TenantId, topic: Topic, message: Sized, stableSeq: number): void {
    const pending = this.pendingOf(tenant, topic);
    pending.messages.push(waitingOf(message));
    pending.stableSeq = Math.max(pending.stableSeq, stableSeq);
  }

  /**
   * Tells of an edit, a recall or a removal. A frame that still waits for its quotes goes out with the new form.
   * @param openToAll false where new members may not read what was sent before them: then the room is only told to ask, and
   * each gets what he may read by `topic:changes`
   */
  changed(tenant: TenantId, topic: Topic, message: Message, change: number, openToAll: boolean): void {
    const room = topicRoom(tenant, topic);
    this.renew(`${tenant} ${topic}`, message);
    try {
      if (openToAll) this.sockets.emit(room, 'message:changed', changedMessage(message, change));
      else this.sockets.emit(room, 'topic:resync', { topics: [topic] });
    } catch (error) {
      this.log.error({ tenant, topic, error: (error as Error).message }, 'a change was not told');
    }
  }

  /** Has the members ask what is new: something may have been changed that was not told. */
  resync(tenant: TenantId, topic: Topic): void {
    try {
      this.sockets.emit(topicRoom(tenant, topic), 'topic:resync', { topics: [topic] });
    } catch (error) {
      this.log.error({ tenant, topic, error: (error as Error).message }, 'members were not told to ask');
    }
  }

  /** Tells a user's own devices what he deleted for himself. */
  hidden(tenant: TenantId, uid: UserId, topic: Topic, seqs: readonly Seq[]): void {
    try {
      this.sockets.emit(userRoom(tenant, uid), 'message:hidden', { topic, seqs });
    } catch (error) {
      this.log.error({ tenant, topic, error: (error as Error).message }, 'an own deletion was not told');
    }
  }

  /** Tells clients that a number will never hold a message, so that they need not ask. */
  tombstone(tenant: TenantId, topic: Topic, seq: Seq): void {
    this.pendingOf(tenant, topic).voids.push(seq);
  }

  /**
   * Tells of a message that was stored before, by an attempt that may have died before it told. Never fails. Where new
   * members may not read what was sent before them the room is only told to ask: somebody may have joined since.
   */
  async again({ tenant, uid }: Actor, topic: Topic, seq: number): Promise<void> {
    try {
      const [row] = await this.store.rowsAfter(tenant, topic, seq - 1, 1);
      if (row?.seq !== seq || row.isVoid) return;
      const { historyForNewMembers } = await this.groups.loadAccess(tenant, topic, uid);
      if (historyForNewMembers) this.message(tenant, topic, row, 0);
      else this.sockets.emit(topicRoom(tenant, topic), 'topic:resync', { topics: [topic] });
    } catch (error) {
      this.log.warn({ tenant, topic, seq, error: (error as Error).message }, 'a message is left to catch-up');
    }
  }

  private renew(key: string, message: Message): void {
    const waiting = [this.composing.get(key), this.pending.get(key)].filter((pending) => pending !== undefined);
    if (waiting.length === 0) return;
    const text = JSON.stringify(message);
    const fresh = waitingOf({ seq: message.seq, text, bytes: Buffer.byteLength(text) + 1 });
    for (const pending of waiting) {
      pending.changed.add(message.seq);
      pending.messages = pending.messages.map((one) => (one.seq === message.seq ? fresh : one));
    }
  }

  private pendingOf(tenant: TenantId, topic: Topic): Pending {
    const key = `${tenant} ${topic}`;
    let pending = this.pending.get(key);
    if (!pending) {
      pending = { messages: [], voids: [], stableSeq: 0, changed: new Set() };
      this.pending.set(key, pending);
      setImmediate(() => this.flush(tenant, topic));
    }
    return pending;
  }

  /** What waits for the quotes of a frame keeps its place: frames of a topic leave one after the other. */
  private flush(tenant: TenantId, topic: Topic): void {
    const key = `${tenant} ${topic}`;
    const ready = this.pending.get(key);
    if (!ready || this.composing.has(key)) return;
    this.pending.delete(key);
    const quoting = ready.messages.flatMap((message) => message.quoting ?? []);
    if (quoting.length === 0) return this.send(tenant, topic, ready, []);
    ready.changed.clear();
    this.composing.set(key, ready);
    const beganMs = performance.now();
    void this.quotes.forAll(tenant, topic, quoting).then(async (quotes) => {
      const isSlow = performance.now() - beganMs > LOOK_AGAIN_AFTER_MS;
      const present = isSlow ? await this.presentQuotes(tenant, topic, ready, quotes) : quotes;
      this.composing.delete(key);
      if (present === null) this.resync(tenant, topic);
      else {
        const unchanged = present.filter(({ seq }) => !ready.changed.has(seq));
        this.send(tenant, topic, ready, unchanged);
      }
      this.flush(tenant, topic);
    });
  }

  /**
   * Looks again at a frame that waited: nodes tell the members of a change, not each other, and what was recalled must not
   * be told after that. Its messages take their present form.
   * @returns the quotes that are still as they were; null when that cannot be known in time
   */
  private async presentQuotes(
    tenant: TenantId,
    topic: Topic,
    ready: Pending,
    quotes: readonly Quote[],
  ): Promise<readonly Quote[] | null> {
    const seqs = [...ready.messages, ...quotes].map(({ seq }) => seq);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => (timer = setTimeout(resolve, LOOK_AGAIN_MS, null)));
    const looking = this.store.rowsOf(tenant, topic, seqs).then((rows) => rows.map((row) => messageOf(topic, row)));
    const found = await Promise.race([looking, late])
      .catch(() => null)
      .finally(() => clearTimeout(timer));
    if (found === null) return null;
    const present = new Map(found.map((message) => [message.seq, message]));
    // What was just sent has the version 1.
    for (const { seq } of [...ready.messages]) {
      const message = present.get(asSeq(seq));
      if (message && message.version > 1) this.renew(`${tenant} ${topic}`, message);
    }
    return quotes.filter(({ seq, version }) => present.get(seq)?.version === version);
  }

  private send(tenant: TenantId, topic: Topic, pending: Pending, quotes: readonly Quote[]): void {
    pending.messages.sort((a, b) => a.seq - b.seq);
    pending.voids.sort((a, b) => a - b);
    let voids: readonly Seq[] = pending.voids;
    for (const messages of frames(pending.messages)) {
      try {
        this.sockets.emit(
          topicRoom(tenant, topic),
          'messages',
          frameOf(topic, messages, voids, pending.stableSeq, quotes),
        );
        this.frames.inc({ result: 'ok' });
      } catch (error) {
        this.frames.inc({ result: 'failed' });
        this.log.error({ tenant, topic, error: (error as Error).message }, 'a frame was not sent');
      }
      voids = [];
    }
  }
}

function waitingOf({ seq, text, bytes }: Sized): Waiting {
  const quoting = quotingMessage(text);
  return { seq, text, bytes: bytes + (quoting ? MAX_QUOTE_BYTES : 0), quoting };
}

/** A `MessagesFrame` out of texts. */
function frameOf(
  topic: Topic,
  messages: readonly Waiting[],
  voids: readonly Seq[],
  stableSeq: number,
  quotes: readonly Quote[],
): RawJson {
  const seqs = new Set(messages.flatMap(({ quoting }) => (quoting && quotedSeq(quoting)) ?? []));
  const among = quotes.filter(({ seq }) => seqs.has(seq));
  return new RawJson(
    `{"topic":"${topic}","messages":[${messages.map(({ text }) => text).join(',')}],` +
      `"voids":[${voids.join(',')}],"stableSeq":${stableSeq}` +
      `${among.length === 0 ? '' : `,"quotes":${JSON.stringify(among)}`}}`,
  );
}

/** What a frame has beside its messages and voids. */
const ENVELOPE_BYTES = 400;

/** Cuts what is ready into frames of at most 128 KiB; at least one, for the voids. */
function frames(messages: readonly Waiting[]): Waiting[][] {
  const parts: Waiting[][] = [[]];
  let total = ENVELOPE_BYTES;
  for (const message of messages) {
    if (total + message.bytes > MAX_FRAME_BYTES && parts[parts.length - 1].length > 0) {
      parts.push([]);
      total = ENVELOPE_BYTES;
    }
    parts[parts.length - 1].push(message);
    total += message.bytes;
  }
  return parts;
}
