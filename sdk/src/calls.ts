import type { Socket } from 'socket.io-client';
import { TridentError } from './errors.js';
import type { Runtime } from './runtime.js';
import type { Ack, ClientCall, OkOf, PayloadOf } from './wire.js';

/** Calls with an ack and a time limit; all of them end when the connection does. */
export const createCalls = (runtime: Runtime, timeoutMs: number) => {
  const pending = new Set<(error: TridentError) => void>();
  return {
    send: <C extends ClientCall>(socket: Socket, call: C, payload: PayloadOf<C>): Promise<OkOf<C>> =>
      new Promise((resolve, reject) => {
        const settle = (): void => {
          cancel();
          pending.delete(fail);
        };
        const fail = (error: TridentError): void => {
          settle();
          reject(error);
        };
        const cancel = runtime.after(timeoutMs, () =>
          fail(new TridentError('TIMEOUT', `${call}: no answer in ${timeoutMs} ms`, true)),
        );
        pending.add(fail);
        socket.emit(call, payload, (answer: Ack<OkOf<C>> | undefined) => {
          if (answer?.ok !== true) return fail(TridentError.fromWire(answer?.error));
          settle();
          resolve(answer);
        });
      }),
    failAll(why: string): void {
      for (const fail of [...pending]) fail(new TridentError('DISCONNECTED', why, true));
    },
  };
};
