'use strict';

/**
 * What is read, each from the cache and from MySQL, as the product does it. `keys` are the uids that it is asked for.
 * @param {object} bench
 * @param {{ application: object, tenant: string, topic: string, uids: string[] }} world
 */
function subjects(bench, { application, tenant, topic, uids }) {
  const get = (module, name) => application.nest.get(bench.product(module)[name], { strict: false });
  const databases = get('platform/mysql/tenant-data-sources', 'TenantDataSources');
  const query = (sql, values) => databases.run(tenant, (db) => db.query(sql, values));
  const services = {
    users: get('modules/user/user.service', 'UserService'),
    relations: get('modules/relation/relation.service', 'RelationService'),
    groups: get('modules/group/group.service', 'GroupService'),
  };
  return [
    profile(services, query, { tenant, uids }),
    access(services, { get, databases }, { tenant, topic, uids }),
    friendship(services, query, { tenant, uids }),
  ];
}

function profile({ users }, query, { tenant, uids }) {
  const nickname = (rows) => rows[0]?.nickname ?? null;
  return {
    name: 'profile',
    keys: uids,
    read: {
      cache: async (uid) => (await users.publicProfile(tenant, uid)).nickname,
      mysql: async (uid) =>
        nickname(
          await query('SELECT id, nickname, avatar, signature, gender, region FROM im_users WHERE id = ?', [uid]),
        ),
    },
  };
}

/** The record as the message pipeline reads it; loaded again when it has gone meanwhile. */
function access({ groups }, { get, databases }, { tenant, topic, uids }) {
  const keys = get('platform/redis/keys', 'RedisKeys');
  const scripts = get('platform/redis/redis-scripts', 'RedisScripts');
  const key = keys.of('groupAccess', { t: tenant, topic });
  return {
    name: 'group access',
    keys: uids,
    read: {
      cache: async (uid) => {
        const read = () => scripts.command('bench_access', (client) => client.hmget(key, uid, '#'));
        let [member] = await read();
        if (member === null) {
          await groups.loadAccess(tenant, topic, uid);
          [member] = await read();
        }
        return member.split('|')[0];
      },
      mysql: async (uid) => (await databases.run(tenant, (db) => groups.accessFromMysql(db, topic, uid))).role,
    },
  };
}

function friendship({ relations }, query, { tenant, uids }) {
  return {
    name: 'friendship',
    keys: uids.slice(1),
    read: {
      cache: (uid) => relations.areFriends(tenant, uid, '1'),
      mysql: async (uid) =>
        (await query('SELECT 1 FROM im_friends WHERE uid = ? AND friend_uid = 1', [uid])).length > 0,
    },
  };
}

module.exports = { subjects };
