import type { Credentials, Session } from './auth.js';
import type { ConnectionState } from './connection.js';
import { isTokenError, TridentError } from './errors.js';
import type { ClientEvents } from './events.js';
import type { TridentOptions } from './options.js';
import type { SendHandle } from './outbox.js';
import { createParts } from './parts.js';
import type { HttpMethod, RestRequest } from './rest.js';
import type { Topic } from './topic.js';
import type { ClientCall, OkOf, PayloadOf, Presence, SessionReady } from './wire.js';

/** The client of one signed-in user: `login` (or `resume`), `connect`, then `topic(...)` and events. */
export class TridentClient {
  readonly #parts: ReturnType<typeof createParts>;

  constructor(options: TridentOptions) {
    this.#parts = createParts(options);
  }

  get uid(): string {
    return this.#parts.uid();
  }

  get session(): Session | undefined {
    return this.#parts.auth.session();
  }

  get state(): ConnectionState {
    return this.#parts.connection.state();
  }

  /** Listens to an event; the returned function stops it. */
  on<E extends keyof ClientEvents>(event: E, listener: (payload: ClientEvents[E]) => void): () => void {
    return this.#parts.events.on(event, listener);
  }

  once<E extends keyof ClientEvents>(event: E, listener: (payload: ClientEvents[E]) => void): () => void {
    const off = this.on(event, (payload) => {
      off();
      listener(payload);
    });
    return off;
  }

  /** Logs in with enterprise code, account and password; `connect` comes after. */
  async login(credentials: Credentials): Promise<Session> {
    this.#mustBeNew();
    return this.#parts.auth.login(credentials);
  }

  /** Goes on with a kept session. */
  resume(session: Session): void {
    this.#mustBeNew();
    this.#parts.auth.use(session);
  }

  /** Connects and stays connected; resolves at the first `session:ready`, rejects when that can never come. */
  async connect(): Promise<SessionReady> {
    const { connection, end, load } = this.#parts;
    await load();
    return new Promise((resolve, reject) => {
      const offReady = this.once('session:ready', (ready) => {
        offState();
        resolve(ready);
      });
      const offState = this.on('connection', ({ state }) => {
        if (state === 'closed') ended();
      });
      const ended = (): void => {
        offReady();
        offState();
        // the reason is noted right after the state
        queueMicrotask(() => reject(end() ?? new TridentError('CLOSED', 'the client was closed', false)));
      };
      if (this.state === 'closed') ended();
      else connection.start();
    });
  }

  /** Reconnects at once when a wait is on; call it when the device wakes up or the network is back. */
  wake(): void {
    this.#parts.connection.wake();
  }

  /** A conversation, followed from now on. */
  topic(name: string): Topic {
    return this.#parts.topics.open(name);
  }

  /** The names of all topics heard of or asked for. */
  topicNames(): string[] {
    return this.#parts.topics.names();
  }

  /** Sends that are not acknowledged yet, of all topics. */
  pending(): SendHandle[] {
    return this.#parts.outbox.pending();
  }

  getPresence(uids: readonly string[]): Promise<Presence[]> {
    return this.#parts.presence.get(uids);
  }

  /** Follows the presence of users by `presence:changed`, also after reconnects; answers with what it is now. */
  watchPresence(uids: readonly string[]): Promise<Presence[]> {
    return this.#parts.presence.watch(uids);
  }

  async unwatchPresence(uids: readonly string[]): Promise<void> {
    await this.#parts.presence.unwatch(uids);
  }

  /** Any socket call of the protocol, for what has no method of its own; rejects with a TridentError. */
  call<C extends ClientCall>(call: C, payload: PayloadOf<C>): Promise<OkOf<C>> {
    return this.#parts.connection.request(call, payload);
  }

  /** Any REST call as this user, e.g. `request<Page>('GET', '/v1/im/topics')`; an ended token is renewed once. */
  async request<T>(method: HttpMethod, path: string, request: Omit<RestRequest, 'token'> = {}): Promise<T> {
    const { auth, rest } = this.#parts;
    const token = await auth.token();
    try {
      return await rest<T>(method, path, { ...request, token });
    } catch (thrown) {
      if (!isTokenError(TridentError.from(thrown))) throw thrown;
      if (auth.session()?.accessToken === token) await auth.refresh();
      return rest<T>(method, path, { ...request, token: await auth.token() });
    }
  }

  /** Ends the session on the server (`all`: of every device), then the client. */
  async logout(all = false): Promise<void> {
    await this.request('POST', '/v1/auth/logout', { body: { all } });
    await this.close();
  }

  /** Stops everything. Unsent messages stay in the storage, if there is one; their handles end as `failed`, CLOSED. */
  close(): Promise<void> {
    return this.#parts.close();
  }

  #mustBeNew(): void {
    if (this.session || this.state !== 'idle') throw new Error('one client is one session: make a new TridentClient');
  }
}
