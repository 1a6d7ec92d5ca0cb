import type { Namespace } from 'socket.io';
import { MessageType, type BroadcastOptions, type ClusterAdapter, type ClusterMessage } from 'socket.io-adapter';

/** The parts of a cluster adapter that are used here; `publish` and `onMessage` are protected in its declaration. */
interface Adapter {
  broadcast(packet: unknown, options: BroadcastOptions): Promise<void> | void;
  publish(message: object): void;
  onMessage(message: ClusterMessage, offset?: string): void;
}

type AdapterFactory = (namespace: Namespace) => ClusterAdapter;

/**
 * Wraps an adapter so that this node delivers to a room only while `mayDeliver` says so. Its own broadcasts still go to
 * the other nodes, whose gates are their own.
 */
export function gatedAdapter(factory: unknown, mayDeliver: (room: string) => boolean): AdapterFactory {
  // Socket.IO calls it with `new`, which an arrow function does not take.
  return function gated(namespace: Namespace): ClusterAdapter {
    const wrapped = (factory as AdapterFactory)(namespace);
    const adapter = wrapped as unknown as Adapter;
    const broadcast = adapter.broadcast.bind(adapter);
    const onMessage = adapter.onMessage.bind(adapter);
    const isOpen = (rooms: Iterable<string>): boolean => [...rooms].every(mayDeliver);

    adapter.broadcast = (packet, options) => {
      // Here and now, or not at all: the adapter's own way waits for Redis first, and much can happen meanwhile.
      if (isOpen(options.rooms as Set<string>))
        void broadcast(packet, { ...options, flags: { ...options.flags, local: true } });
      const opts = { rooms: [...options.rooms], except: [...options.except!], flags: options.flags };
      if (!options.flags?.local) adapter.publish({ type: MessageType.BROADCAST, data: { packet, opts } });
    };
    adapter.onMessage = (message, offset) => {
      const isBroadcast = message.type === MessageType.BROADCAST;
      if (isBroadcast && !isOpen((message.data as { opts: { rooms: string[] } }).opts.rooms)) return;
      onMessage(message, offset);
    };
    return wrapped;
  };
}
