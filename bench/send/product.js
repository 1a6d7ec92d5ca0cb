'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { choosePort } = require('../../scripts/lib/ports');
const { createTenant, insertGroup, insertUsers, nodeEnvironment, Sql } = require('../lib/world');

/** The product's own application in this process, with users and groups, asked by its service: no socket between. */
class Product {
  constructor(bench) {
    this.bench = bench;
  }

  /**
   * @param {object} servers
   * @param {{ users: number, groups: number, poolSize: number }} size every user is a member of every group
   */
  async open({ mysql, redis }, { users, groups, poolSize }) {
    const port = await choosePort();
    const environment = { ...nodeEnvironment({ mysql, redis, port }), MYSQL_POOL_SIZE: String(poolSize) };
    this.tenant = await createTenant(this.bench, environment);
    this.database = this.tenant.database;
    const sql = new Sql(mysql, this.database);
    await insertUsers(sql, users);
    const uids = Array.from({ length: users }, (_, index) => index + 1);
    for (let groupId = 1; groupId <= groups; groupId += 1) await insertGroup(sql, groupId, uids);
    await sql.close();
    const { createApplication } = this.bench.product('application');
    const { loadEnv } = this.bench.product('platform/env/env');
    this.application = await createApplication(loadEnv(environment));
    await this.application.start();
    const { GroupMessageService } = this.bench.product('modules/group-message/group-message.service');
    this.messages = this.application.nest.get(GroupMessageService, { strict: false });
  }

  /** @returns {Promise<void>} once the product acknowledges */
  async send({ groupId, uid, clientMsgId, content }) {
    const id = String(uid);
    // As the gateway makes it; no spread, whose cost would count as the product's.
    const draft = {
      topic: `grp_${groupId}`,
      clientMsgId,
      type: 'text',
      content,
      head: null,
      mentionedUserIds: [],
      mentionAll: false,
      replySeq: null,
      rootSeq: null,
    };
    await this.messages.sends.send({ tenant: this.tenant.id, uid: id, sessionId: id }, draft);
  }

  /** The product's scripts by the digest that EVALSHA names them by. */
  scriptNames() {
    const { loadScript } = this.bench.product('platform/redis/redis-scripts');
    const folder = path.join(this.bench.root, 'dist', 'modules', 'group-message');
    const files = fs.readdirSync(path.join(folder, 'lua'));
    const verbs = files.filter((file) => file.endsWith('.lua')).map((file) => file.slice(0, -'.lua'.length));
    return new Map(verbs.map((verb) => [loadScript(folder, verb).sha, verb]));
  }

  async close() {
    await this.application?.stop();
  }
}

module.exports = { Product };
