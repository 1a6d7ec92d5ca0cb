import { createAuth } from './auth.js';
import { createConnection } from './connection.js';
import type { Context, Request } from './context.js';
import { createEmitter } from './emitter.js';
import { TridentError } from './errors.js';
import type { ClientEvents, WireEvent } from './events.js';
import { createLimiter } from './limiter.js';
import { createLink } from './link.js';
import { createMarks } from './marks.js';
import type { TridentOptions } from './options.js';
import { createOutbox } from './outbox.js';
import { createPresence } from './presence.js';
import { createRest } from './rest.js';
import { defaultRuntime } from './runtime.js';
import { createSaver } from './storage.js';
import { createTopics } from './topics.js';

const SENDS_AT_A_TIME = 8;

/** Puts the parts of a client together; what each of them does is in its own file. */
export const createParts = (options: TridentOptions) => {
  const servers = [options.servers].flat().map((server) => server.replace(/\/+$/, ''));
  if (servers.length === 0) throw new TypeError('servers: give at least one URL');
  const { deviceId, device, subscribe = 'all', transports = ['websocket'], storage } = options;
  const { requestTimeoutMs = 10_000, heartbeatMs = 30_000, maxQueuedSends = 1000 } = options;
  const { windowSize = 1000, headJitterMs = 1000 } = options;
  const runtime = { ...defaultRuntime, ...options.runtime };
  const events = createEmitter<ClientEvents>((error) => report(error));
  /** tenant and user, once the stored state of that account may be used */
  let account = '';
  let end: TridentError | undefined;

  const link = createLink();
  const { emit } = events;
  const report = (error: unknown, topic?: string): void => {
    if (events.has('error')) emit('error', { topic, error });
    else console.error('trident-im-client:', topic ?? '', error);
  };
  const request: Request = (call, payload) => connection.request(call, payload);
  const context: Context = { runtime, link, request, emit, report };

  const finish = (error: TridentError): void => {
    if (end) return;
    end = error;
    connection.stop();
    auth.stop();
    emit('signed-out', { error });
  };
  const rest = createRest(runtime, servers, requestTimeoutMs);
  const auth = createAuth(runtime, rest, {
    onSession(session) {
      emit('session', session);
      // without luck the server says token_expired, and the reconnect brings the new token
      request('session:renew', { token: session.accessToken }).catch(() => undefined);
    },
    onSignedOut: finish,
  });
  const uid = (): string => auth.session()?.uid ?? '';

  const marks = createMarks(context);
  const presence = createPresence(context);
  const outbox = createOutbox(context, createLimiter(SENDS_AT_A_TIME), {
    maxSize: maxQueuedSends,
    onStored: (payload, ok) => topics.onStored(uid(), payload, ok),
    onQueue: () => saver?.touch(),
  });
  const topics = createTopics(
    context,
    { manual: subscribe === 'manual', windowSize, headJitterMs },
    {
      onHead: ({ topic, readSeq }) => marks.note('read', topic, readSeq),
      onMoved: () => saver?.touch(),
      send: outbox.send,
      pending: outbox.pending,
      mark: marks.move,
      readSeq: (topic) => marks.get('read', topic),
    },
  );
  const save = async (): Promise<void> => {
    if (!storage || account === '') return;
    const unsent = outbox.pending().map(({ payload }) => payload);
    await storage.save(account, { version: 1, topics: topics.stored(), outbox: unsent });
  };
  const saver = storage && createSaver(runtime, save, report);

  const onEvent = (wire: WireEvent): void => {
    emit('wire', wire);
    if (topics.onWire(wire)) return;
    if (wire.event === 'topic:cursor' && wire.payload.uid === uid()) {
      const { topic, readSeq, receivedSeq } = wire.payload;
      marks.note('read', topic, readSeq);
      marks.note('received', topic, receivedSeq);
    }
    emit(wire.event as never, wire.payload as never);
  };
  const connection = createConnection(
    runtime,
    { servers, deviceId, device, subscribe, transports, requestTimeoutMs, heartbeatMs },
    {
      token: async (renew) => (renew ? (await auth.refresh()).accessToken : auth.token()),
      onState: (state) => emit('connection', { state }),
      onReady() {
        link.turn(true);
        presence.renew().catch((error: TridentError) => {
          if (!error.retryable) report(error);
        });
      },
      onOffline: () => link.turn(false),
      onEvent,
      onFatal: finish,
    },
  );

  /** Takes over what an earlier run left; at most once. */
  const load = async (): Promise<void> => {
    const session = auth.session();
    if (!session) throw new TridentError('UNAUTHENTICATED', 'log in first', false);
    const name = `${session.tenantId}/${session.uid}`;
    if (account === name) return;
    try {
      const state = await storage?.load(name);
      if (state) {
        topics.restore(state.topics);
        outbox.restore(state.outbox);
      }
    } catch (error) {
      // a fresh start is right, only slower
      report(error);
    }
    account = name;
  };

  const close = async (): Promise<void> => {
    end ??= new TridentError('CLOSED', 'the client was closed', false);
    connection.stop();
    auth.stop();
    await saver?.flush();
    // what is left stays in the storage
    account = '';
    outbox.close();
  };

  return { events, rest, auth, topics, outbox, presence, connection, uid, load, close, end: () => end };
};
