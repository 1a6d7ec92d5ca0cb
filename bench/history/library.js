'use strict';
const { setTimeout: delay } = require('node:timers/promises');
const { redisCommand } = require('../../scripts/lib/resp');
const { choosePort } = require('../../scripts/lib/ports');
const { createTenant, insertGroup, insertUsers, nodeEnvironment, Sql } = require('../lib/world');
const { FindReader, ProductReader } = require('./readers');

/** More members than any group has: nothing becomes hot, since this node sees no sends either. */
const neverHot = 1_000_000_000;
const groupId = 1;
const sendsAtOnce = 64;
const warmUpMs = 20_000;

/** One group with its messages, and three ways to read it: hot set, MySQL, `repository.find`. */
class Library {
  /**
   * @param {object} bench
   * @param {object} servers
   * @param {{ readers: number, messages: number, textLength: number, poolSize: number }} size
   */
  constructor(bench, servers, size) {
    this.bench = bench;
    this.servers = servers;
    this.size = size;
    /** By name, in the order they were opened. */
    this.readers = {};
  }

  async open() {
    const { mysql, redis } = this.servers;
    const { readers, poolSize } = this.size;
    await redisCommand(redis.port, ['FLUSHALL']);
    const { id, database } = await createTenant(this.bench, this.environment({}));
    this.sql = new Sql(mysql, database);
    await insertUsers(this.sql, readers);
    const uids = Array.from({ length: readers }, (_, index) => index + 1);
    this.place = { tenant: id, topic: await insertGroup(this.sql, groupId, uids) };
    const hot = await this.openProduct('hot', { HOT_MIN_MEMBERS: '1' });
    await this.fill(hot.application);
    // Another key prefix is another deployment's Redis: this node shares the tables with the first one and nothing else.
    await this.openProduct('mysql', { HOT_MIN_MEMBERS: String(neverHot), REDIS_KEY_PREFIX: 'bench-cold' });
    this.readers.find = await FindReader.open(mysql, { database, topic: this.place.topic, connections: poolSize });
    const seqs = await this.sql.query("SELECT seqid FROM im_group_messages WHERE status = 'normal' ORDER BY seqid");
    this.seqs = seqs.map((row) => Number(row.seqid));
    if (this.seqs.length !== this.size.messages) throw new Error(`${this.seqs.length} messages were stored`);
  }

  /** @param {string} source wanted; reads until every reader gets these pages from there. @throws when it does not come */
  async warmUp(name, source, queries) {
    const untilMs = performance.now() + warmUpMs;
    for (let uid = 1; uid <= this.size.readers; uid += 1) {
      for (const query of queries) {
        while ((await this.readers[name].read(uid, query)).source !== source) {
          this.bench.throwIfStopped();
          if (performance.now() > untilMs) throw new Error(`no page of "${name}" came from ${source}`);
          await delay(20);
        }
      }
    }
  }

  /** The seqs that a page must have, by the table itself. */
  expected({ afterSeq, limit }) {
    return afterSeq === undefined ? this.seqs.slice(-limit) : this.seqs.filter((seq) => seq > afterSeq).slice(0, limit);
  }

  async close() {
    for (const reader of Object.values(this.readers).reverse()) await reader.close();
    await this.sql?.close();
  }

  async openProduct(name, settings) {
    const { createApplication } = this.bench.product('application');
    const { loadEnv } = this.bench.product('platform/env/env');
    const { GroupMessageService } = this.bench.product('modules/group-message/group-message.service');
    const application = await createApplication(loadEnv(this.environment({ ...settings, PORT: await choosePort() })));
    const { history } = application.nest.get(GroupMessageService, { strict: false });
    this.readers[name] = new ProductReader(application, history, this.place);
    await application.start();
    return this.readers[name];
  }

  environment({ PORT = 1, ...settings }) {
    const environment = nodeEnvironment({ ...this.servers, port: PORT });
    return { ...environment, MYSQL_POOL_SIZE: String(this.size.poolSize), ...settings };
  }

  /** Sends the messages through the product, so that rows and hot set are what it makes of them. */
  async fill(application) {
    const { GroupMessageService } = this.bench.product('modules/group-message/group-message.service');
    const { sends } = application.nest.get(GroupMessageService, { strict: false });
    const { readers, messages, textLength } = this.size;
    let sent = 0;
    const loop = async () => {
      while (sent < messages) {
        this.bench.throwIfStopped();
        sent += 1;
        const id = String(1 + (sent % readers));
        const text = `${sent} `.padEnd(textLength, 'x');
        await sends.send(
          { tenant: this.place.tenant, uid: id, sessionId: id },
          {
            ...{ topic: this.place.topic, clientMsgId: `m-${sent}`, type: 'text', content: { text }, head: null },
            ...{ mentionedUserIds: [], mentionAll: false, replySeq: null, rootSeq: null },
          },
        );
      }
    };
    await Promise.all(Array.from({ length: sendsAtOnce }, loop));
  }
}

module.exports = { Library };
