'use strict';
const { choosePort } = require('../../scripts/lib/ports');
const { createTenant, insertUsers, nodeEnvironment, Sql } = require('../lib/world');

const poolSize = 8;

/** A tenant with users, and a node of the product that is asked through its services. */
class Crowd {
  /** @param {number} size of the group, its owner included */
  static async open(bench, servers, size) {
    const crowd = new Crowd();
    const environment = {
      ...nodeEnvironment({ ...servers, port: await choosePort() }),
      MYSQL_POOL_SIZE: String(poolSize),
    };
    const { id, database } = await createTenant(bench, environment);
    crowd.servers = servers;
    crowd.sql = new Sql(servers.mysql, database);
    // The owner is user 1.
    await insertUsers(crowd.sql, size);
    await crowd.sql.query("UPDATE im_users SET nickname = CONCAT('Guest ', id) WHERE id % 20 = 0");
    crowd.members = Array.from({ length: size - 1 }, (_, index) => String(index + 2));
    const { createApplication } = bench.product('application');
    const { loadEnv } = bench.product('platform/env/env');
    crowd.application = await createApplication(loadEnv(environment));
    await crowd.application.start();
    const get = (module, name) => crowd.application.nest.get(bench.product(module)[name], { strict: false });
    crowd.owner = { tenant: id, uid: '1', sessionId: '1' };
    crowd.services = {
      life: get('modules/group/group-life.service', 'GroupLifeService'),
      members: get('modules/group/group-members.service', 'GroupMembersService'),
      list: get('modules/group/member-list', 'MemberList'),
      databases: get('platform/mysql/tenant-data-sources', 'TenantDataSources'),
    };
    return crowd;
  }

  /** A group that has nobody but its owner. @returns its topic */
  async emptyGroup() {
    const { topic } = await this.services.life.create(this.owner, { name: 'Crowd', memberUids: [] });
    return topic;
  }

  /** What any change of the group does to the snapshots of its list. */
  async change() {
    await this.sql.query('UPDATE im_topic_seq SET acl_version = acl_version + 1 WHERE topic = ?', [this.topic]);
  }

  /** A statement as the product's own, over its pool. */
  query(sql, values) {
    return this.services.databases.run(this.owner.tenant, (db) => db.query(sql, values));
  }

  async close() {
    await this.application.stop();
    await this.sql.close();
  }
}

module.exports = { Crowd };
