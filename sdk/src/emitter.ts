export interface Emitter<Events extends object> {
  /** Adds a listener; the returned function removes it. */
  on<E extends keyof Events>(event: E, listener: (payload: Events[E]) => void): () => void;
  has(event: keyof Events): boolean;
  emit<E extends keyof Events>(event: E, payload: Events[E]): void;
}

/** A small typed event emitter. A listener that throws never stops the others nor the client. */
export const createEmitter = <Events extends object>(onListenerError: (error: unknown) => void): Emitter<Events> => {
  const listeners: { [E in keyof Events]?: Set<(payload: Events[E]) => void> } = Object.create(null);
  return {
    on(event, listener) {
      // wrapped, so that the same function added twice is two listeners
      const own: typeof listener = (payload) => listener(payload);
      (listeners[event] ??= new Set()).add(own);
      return () => void listeners[event]?.delete(own);
    },
    has: (event) => !!listeners[event]?.size,
    emit(event, payload) {
      for (const listener of [...(listeners[event] ?? [])]) {
        try {
          listener(payload);
        } catch (error) {
          onListenerError(error);
        }
      }
    },
  };
};
