'use strict';
const { DataSource, EntitySchema, MoreThan } = require('typeorm');

/**
 * A page as the bench compares it: the answer's JSON text, ready to be sent, and where the product had it from. Every side
 * is measured up to there, since nobody reads a page for anything else.
 */
const pageOf = (text, source) => ({ text, source });

/** Pages by the product's own service: permission, head, own deletions and rows, as a client's request gets them. */
class ProductReader {
  /**
   * @param {object} application of the product
   * @param {object} history its HistoryService
   * @param {{ tenant: string, topic: string }} place
   */
  constructor(application, history, { tenant, topic }) {
    this.application = application;
    this.history = history;
    this.tenant = tenant;
    this.topic = topic;
  }

  /** @param {{ afterSeq?: number, limit: number }} query without `afterSeq`: the newest page */
  async read(uid, query) {
    const id = String(uid);
    const page = await this.history.page({ tenant: this.tenant, uid: id, sessionId: id }, this.topic, query);
    return pageOf(page.answer.text, page.source);
  }

  close() {
    return this.application.stop();
  }
}

const id = { type: 'bigint' };
const optionalId = { type: 'bigint', nullable: true };
const short = { type: 'varchar', length: 64 };
const json = { type: 'simple-json', nullable: true };
const moment = { type: 'datetime', precision: 3 };

/** The columns that a page of the product is made of, under the same names; the rest of the table is not even read. */
const messageEntity = new EntitySchema({
  name: 'Message',
  tableName: 'im_group_messages',
  columns: {
    topic: { ...short, primary: true },
    seqid: { ...id, primary: true },
    id,
    from_user: id,
    client_msg_id: { ...short, nullable: true },
    msg_type: short,
    status: short,
    content: json,
    head: json,
    mentioned_user_ids: json,
    mention_all: { type: 'tinyint' },
    reply_seqid: optionalId,
    root_seqid: optionalId,
    version: { type: 'int' },
    created_at: moment,
    updated_at: moment,
  },
});

/** An entity as the wire shows it. */
const messageOf = (row) => ({
  id: row.id,
  topic: row.topic,
  seq: Number(row.seqid),
  from: row.from_user,
  clientMsgId: row.client_msg_id ?? '',
  type: row.msg_type,
  content: row.content,
  head: row.head,
  mentionedUserIds: row.mentioned_user_ids ?? [],
  mentionAll: row.mention_all === 1,
  replySeq: row.reply_seqid === null ? null : Number(row.reply_seqid),
  rootSeq: row.root_seqid === null ? null : Number(row.root_seqid),
  status: row.status,
  version: row.version,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});

/**
 * The plain way to read a page: `repository.find` along the primary key, JSON columns parsed, written as JSON. It asks for
 * no permission, no head, nobody's own deletions, and not whether there is more, so it is the least that this way can cost.
 */
class FindReader {
  constructor(source, topic) {
    this.source = source;
    this.repository = source.getRepository(messageEntity);
    this.topic = topic;
  }

  /**
   * @param {object} mysql server
   * @param {{ database: string, topic: string, connections: number }} options
   */
  static async open(mysql, { database, topic, connections }) {
    const source = new DataSource({
      type: /mariadb/i.test(mysql.title) ? 'mariadb' : 'mysql',
      ...{ host: mysql.host, port: mysql.port, username: mysql.user, password: mysql.password, database },
      ...{ charset: 'utf8mb4_bin', timezone: 'Z', poolSize: connections, synchronize: false },
      entities: [messageEntity],
    });
    await source.initialize();
    return new FindReader(source, topic);
  }

  async read(_uid, { afterSeq, limit }) {
    const { topic } = this;
    const rows =
      afterSeq === undefined
        ? await this.repository.find({ where: { topic }, order: { seqid: 'DESC' }, take: limit })
        : await this.repository.find({
            where: { topic, seqid: MoreThan(afterSeq) },
            order: { seqid: 'ASC' },
            take: limit,
          });
    if (afterSeq === undefined) rows.reverse();
    return pageOf(JSON.stringify({ messages: rows.map(messageOf) }), 'find');
  }

  close() {
    return this.source.destroy();
  }
}

module.exports = { ProductReader, FindReader };
