'use strict';
const mysql2 = require('mysql2');

const columns =
  'topic, group_id, seqid, from_user, client_msg_id, digest, msg_type, status, content, head, mentioned_user_ids, ' +
  'mention_all, reply_seqid, root_seqid, content_size, created_at, updated_at';
const insert = `INSERT INTO bench_messages (${columns}) VALUES (${columns.replace(/\w+/g, '?')})`;
const digest = Buffer.alloc(32, 7);

/**
 * The plain way to store messages: one INSERT for each, committed by itself, into a table of the same definition. It
 * numbers in its own memory and knows no claim, no permission and no fence, so it is the most that this way can give.
 */
class SingleInserts {
  /**
   * @param {object} mysql server
   * @param {string} database holds the product's table, whose definition is copied
   * @param {number} connections of the pool
   */
  constructor(mysql, database, connections) {
    const { host, port, user, password } = mysql;
    this.pool = mysql2.createPool({
      ...{ host, port, user, password, database },
      charset: 'utf8mb4_bin',
      timezone: 'Z',
      connectionLimit: connections,
      queueLimit: 0,
    });
    this.seqs = new Map();
  }

  prepare() {
    return this.query('CREATE TABLE bench_messages LIKE im_group_messages');
  }

  /** @returns {Promise<void>} once it is committed */
  async send({ groupId, uid, clientMsgId, content }) {
    const seq = (this.seqs.get(groupId) ?? 0) + 1;
    this.seqs.set(groupId, seq);
    const text = JSON.stringify(content);
    const now = new Date();
    const topic = `grp_${groupId}`;
    const who = [topic, groupId, seq, uid, clientMsgId, digest];
    await this.query(insert, [...who, 'text', 'normal', text, null, null, 0, null, null, text.length, now, now]);
  }

  query(sql, values) {
    return new Promise((resolve, reject) => {
      this.pool.query(sql, values, (error, result) => (error ? reject(error) : resolve(result)));
    });
  }

  close() {
    return new Promise((resolve) => this.pool.end(() => resolve()));
  }
}

module.exports = { SingleInserts };
