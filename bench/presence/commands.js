'use strict';
const path = require('node:path');
const Redis = require('ioredis').Redis;

/** Scripts of presence, by what they are called. */
const scripts = [
  'mark_online',
  'refresh',
  'mark_offline',
  'settle_offline',
  'reap',
  'read',
  'renew',
  'living',
  'retire',
  'dead',
  'hold',
  'index_add',
  'members_change',
  'members_renew',
  'members_drop',
  'online_count',
  'offline_members',
];
/** Single commands that only presence sends, apart from its scripts. */
const leaseKey = /:0:node:\{[^}]+\}$/;
const readyKey = /:0:presence:ready$/;

/** Names of the presence scripts by their digests. */
function scriptNames(bench) {
  const { loadScript } = bench.product('platform/redis/redis-scripts');
  const folder = path.join(bench.root, 'dist', 'modules', 'presence');
  return new Map(scripts.map((verb) => [loadScript(folder, verb).sha, verb]));
}

/** Counts what clients ask of a Redis; what scripts do inside it is not counted, as no client waits for it. */
class CommandCounter {
  static async open(url, names) {
    const client = new Redis(url);
    const monitor = await client.monitor();
    client.disconnect();
    return new CommandCounter(monitor, names);
  }

  constructor(monitor, names) {
    this.monitor = monitor;
    this.names = names;
    this.start();
    monitor.on('monitor', (_time, args, source) => {
      if (source !== 'lua') this.count(args);
    });
  }

  start() {
    this.presence = new Map();
    this.others = new Map();
    this.startedMs = performance.now();
  }

  /** @returns {{ seconds: number, presence: Map<string, number>, others: Map<string, number> }} counts by name */
  stop() {
    const { presence, others } = this;
    return { seconds: (performance.now() - this.startedMs) / 1000, presence, others };
  }

  close() {
    this.monitor.disconnect();
  }

  count([command, first, ...rest]) {
    const name = command.toLowerCase();
    const script = name === 'evalsha' ? this.names.get(first) : undefined;
    const isLease = (name === 'hset' || name === 'pexpire') && leaseKey.test(first);
    const isReady = name === 'exists' && readyKey.test(first);
    const kind = script ?? (isLease ? 'node lease' : isReady ? 'ready?' : undefined);
    if (kind) add(this.presence, kind);
    else add(this.others, name === 'evalsha' ? `other script of ${rest[1] ? keyKind(rest[1]) : 'no key'}` : name);
  }
}

const add = (counts, name) => counts.set(name, (counts.get(name) ?? 0) + 1);
/** A key without its ids. */
const keyKind = (key) => key.split(':').slice(2, 3).join(':');

module.exports = { CommandCounter, scriptNames };
