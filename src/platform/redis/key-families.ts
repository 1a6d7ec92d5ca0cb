interface KeyFamily {
  /** Parameters in `<…>`; the part in braces is the Redis Cluster hash tag. `<t>` is the tenant, `0` the platform. */
  readonly pattern: string;
  readonly type: string;
  readonly ttl: string;
  /** The only module that writes it. */
  readonly owner: string;
  readonly what: string;
}

/**
 * Every Redis key of the product. `docs/redis-keys.md` is generated from this table, and nothing else spells a key.
 * Keys that one script touches share a hash tag.
 */
export const KEY_FAMILIES = {
  nodeLease: {
    pattern: '0:node:{<node>}',
    type: 'hash',
    ttl: '15 s, renewed every 5 s',
    owner: 'presence',
    what: 'node lease: started_at, connections',
  },
  nodes: {
    pattern: '0:nodes',
    type: 'zset node→lease expiry',
    ttl: 'none',
    owner: 'presence',
    what: 'the living nodes, and dead ones until they are cleared',
  },
  nodeInbox: {
    pattern: '0:node:{<node>}:inbox',
    type: 'pub/sub',
    ttl: '-',
    owner: 'platform/redis',
    what: 'requests and answers between nodes',
  },
  nodeBroadcast: {
    pattern: '0:node:all',
    type: 'pub/sub',
    ttl: '-',
    owner: 'platform/redis',
    what: 'what every node hears: changes of presence',
  },
  nodeReaper: {
    pattern: '0:node:{<node>}:reaper',
    type: 'string (owner token)',
    ttl: '10 s',
    owner: 'presence',
    what: 'who clears what a dead node left',
  },
  nodeTenants: {
    pattern: '0:node:{<node>}:tenants',
    type: 'set',
    ttl: '24 h',
    owner: 'presence',
    what: 'index: tenants that a node has sockets of',
  },
  nodeUsers: {
    pattern: '<t>:presence:node:{<node>}:users',
    type: 'set',
    ttl: '24 h',
    owner: 'presence',
    what: 'index: users that a node has sockets of, or has to announce as offline; found by the reaper without a scan',
  },
  nodeTopics: {
    pattern: '<t>:presence:node:{<node>}:topics',
    type: 'set',
    ttl: '24 h',
    owner: 'presence',
    what: 'index: topics that a node has subscribers of',
  },
  presenceReady: {
    pattern: '0:presence:ready',
    type: 'string',
    ttl: 'none',
    owner: 'presence',
    what: '1 = presence is known; in an emptied Redis the time (ms) since when nodes register anew, for 30 s',
  },
  presenceUser: {
    pattern: '<t>:presence:user:{<uid>}',
    type: 'hash',
    ttl: '120 s',
    owner: 'presence',
    what: 'online, session_count, node_id, device, ua, last_active_at, last_seen_at; told and told_at: what watchers were told, and the number of that change; offline_at: when the grace began',
  },
  presenceSessions: {
    pattern: '<t>:presence:user:{<uid>}:sessions',
    type: 'zset session→expiry (ms)',
    ttl: '120 s',
    owner: 'presence',
    what: 'live sessions, one a socket; each ends by itself',
  },
  presenceSessionInfo: {
    pattern: '<t>:presence:user:{<uid>}:session_info',
    type: 'hash session→JSON',
    ttl: '120 s',
    owner: 'presence',
    what: 'of each session: node, device, ua, since',
  },
  topicNodes: { pattern: '<t>:topic:{<topic>}:nodes', type: 'set', ttl: '24 h', owner: 'presence', what: 'its nodes' },
  topicOnlineCount: {
    pattern: '<t>:topic:{<topic>}:online_members',
    type: 'string',
    ttl: '10 s',
    owner: 'presence',
    what: 'size of the union of the living nodes’ sets',
  },
  topicNodeMembers: {
    pattern: '<t>:topic:{<topic>}:node:<node>:online_members',
    type: 'set',
    ttl: '24 h',
    owner: 'presence',
    what: 'members with a subscribed socket on one node; counts while the node lives',
  },
  configChanged: { pattern: '0:config:changed', type: 'pub/sub', ttl: '-', owner: 'tenant', what: 'reload now' },
  topicLastSeq: {
    pattern: '<t>:topic:{<topic>}:last_seq',
    type: 'hash epoch, seq, entries, run_id',
    ttl: 'none',
    owner: 'group-message',
    what: 'the counter, the epoch it counts in, how many are in flight, the Redis server it was counted on',
  },
  topicInflight: {
    pattern: '<t>:topic:{<topic>}:inflight',
    type: 'zset by seq',
    ttl: 'none',
    owner: 'group-message',
    what: 'numbers given out and not settled; the minimum bounds stableSeq',
  },
  topicInflightDeadline: {
    pattern: '<t>:topic:{<topic>}:inflight:deadline',
    type: 'zset by deadline (ms)',
    ttl: 'none',
    owner: 'group-message',
    what: 'the same numbers by deadline',
  },
  messageClaim: {
    pattern: '<t>:topic:{<topic>}:uniq:msg:<from>:<clientMsgId>',
    type: 'string (JSON)',
    ttl: '120 s pending, 24 h done, 10 min failed',
    owner: 'group-message',
    what: 'idempotency of a send: status, owner, seq, epoch, messageId, digest, createdAt',
  },
  topicHot: {
    pattern: '<t>:topic:{<topic>}:hot_msgs',
    type: 'zset by seq',
    ttl: '24 h',
    owner: 'group-message',
    what: 'copies of the newest messages, known holes among them; a page is one ZRANGEBYSCORE',
  },
  topicHotMeta: {
    pattern: '<t>:topic:{<topic>}:hot_meta',
    type: 'hash',
    ttl: '24 h',
    owner: 'group-message',
    what: 'of the hot set: run_id, generation, bytes, open changes',
  },
  topicHides: {
    pattern: '<t>:topic:{<topic>}:hides:<uid>',
    type: 'set with a loaded marker (run id)',
    ttl: '300 s',
    owner: 'group-message',
    what: 'seqs that a member deleted for himself',
  },
  hotIndex: {
    pattern: '<t>:hot_index',
    type: 'zset topic→last use',
    ttl: '24 h',
    owner: 'group-message',
    what: 'which hot sets a tenant has, for its limit',
  },
  groupAccess: {
    pattern: '<t>:group:{<topic>}:access',
    type: 'hash uid→role, mute, state; `#` the group; `?<uid>` a lease',
    ttl: '300 s ± 10 %',
    owner: 'group',
    what: 'what Admit and every permission check read; filled per member under a lease',
  },
  userTopics: {
    pattern: '<t>:user:{<uid>}:topics',
    type: 'string (JSON) or a lease',
    ttl: '300 s ± 10 %',
    owner: 'group',
    what: 'topics of the active groups that a user is in, to be joined when he connects',
  },
  memberPage: {
    pattern: '<t>:group:{<topic>}:member_page:<version>:<digest>',
    type: 'string (JSON) or a lease',
    ttl: '60 s ± 10 %',
    owner: 'group',
    what: "one page of the member list, without profiles, or how many are in it; the version is the group's `acl_version`, which every change raises, the digest covers filters, cursor and limit",
  },
  groupInvite: {
    pattern: '<t>:invite:{<code>}',
    type: 'string (JSON) or a lease',
    ttl: '60 s ± 10 %',
    owner: 'group',
    what: 'the group of an invite code; unknown codes, too',
  },
  userProfile: {
    pattern: '<t>:user:{<uid>}:profile',
    type: 'string (JSON) or a lease',
    ttl: '30 min ± 10 %; 2 h when the user goes offline',
    owner: 'user',
    what: 'nickname, avatar, signature, public data; never a hash or a field of the login',
  },
  userUnread: {
    pattern: '<t>:user:{<uid>}:unread',
    type: 'hash topic→head, read, changes, hides, floor, unread, mentions',
    ttl: '300 s',
    owner: 'conversation',
    what: 'unread messages by conversation; an entry counts under the very state that it was made for, or with what came and what was read since',
  },
  userFavorites: {
    pattern: '<t>:user:{<uid>}:favorites',
    type: 'string (JSON) or a lease',
    ttl: '300 s ± 10 %',
    owner: 'favorite',
    what: 'references of the newest favourites, never what the messages say',
  },
  bootstrap: {
    pattern: '<t>:bootstrap:{<uid>}',
    type: 'string (JSON) or a lease',
    ttl: '10 s ± 10 %',
    owner: 'conversation',
    what: 'first-screen aggregate, without message bodies and presence',
  },
  userPrivacy: {
    pattern: '<t>:user:{<uid>}:privacy',
    type: 'string (JSON) or a lease',
    ttl: '30 min ± 10 %',
    owner: 'user',
    what: 'who may see presence and last seen, and who may add the user to groups',
  },
  accountUid: {
    pattern: '<t>:account:{<account>}:uid',
    type: 'string (JSON) or a lease',
    ttl: '30 min ± 10 %; 30 s for an account that does not exist',
    owner: 'user',
    what: 'login name to uid',
  },
  relationFriends: {
    pattern: '<t>:relation:friends:{<uid>}',
    type: 'set with a loaded marker (`#<run id>`), or a lease',
    ttl: '300 s ± 10 %',
    owner: 'relation',
    what: 'friends of a user; "no" is an answer only when the set is known to be whole',
  },
  relationBlocks: {
    pattern: '<t>:relation:blocklist:{<uid>}',
    type: 'set with a loaded marker (`#<run id>`), or a lease',
    ttl: '300 s ± 10 %',
    owner: 'relation',
    what: 'whom a user has blocked',
  },
  relationFollows: {
    pattern: '<t>:relation:following:{<uid>}',
    type: 'set with a loaded marker (`#<run id>`), or a lease',
    ttl: '300 s ± 10 %',
    owner: 'relation',
    what: 'whom a user follows',
  },
  rate: {
    pattern: '<t>:rate:{<what>:<subject>}',
    type: 'string or set of uses (window), or hash tokens, at (bucket)',
    ttl: 'the window, or until the bucket is full',
    owner: 'platform/redis',
    what: 'uses in the present window, or what is left of a budget; count and expiry are one script',
  },
  idempotency: {
    pattern: '<t>:idem:{<uid>:<key>}',
    type: 'hash state, digest, owner, answer',
    ttl: '60 s while the call runs, then 24 h',
    owner: 'idempotency',
    what: 'Idempotency-Key of a REST write: who is at work, what was answered; MySQL has the last word',
  },
  sessionRevoked: {
    pattern: '<t>:session:{<sid>}:revoked',
    type: 'string 1, or 0 and the run id',
    ttl: 'access token life',
    owner: 'auth',
    what: 'for handshakes and calls with a token that has not expired yet: 1 = logged out, 0 = known to stand, on this Redis server alone; without such a key MySQL is asked',
  },
  loginTries: {
    pattern: '<t>:login:fail:{<account>}:<address>',
    type: 'hash tries, free_at',
    ttl: '15 min',
    owner: 'auth',
    what: 'log-ins of an account from one address that did not succeed, and from when on the next one is looked at; the account only as a hash',
  },
  loginAddresses: {
    pattern: '<t>:login:fail:{<account>}:addresses',
    type: 'zset address→until when it counts, ms',
    ttl: '15 min',
    owner: 'auth',
    what: 'addresses from which log-ins of an account failed or are being tried, at most 1 000; many ask for a code',
  },
  loginPlaces: {
    pattern: '<t>:login:fail:{<account>}:places',
    type: 'zset address→last right log-in, ms',
    ttl: '30 d',
    owner: 'auth',
    what: 'the last 20 addresses from which an account was logged in to; there no code is asked for',
  },
  shortToken: {
    pattern: '<t>:token:{<hash>}',
    type: 'string (JSON)',
    ttl: "the token's life",
    owner: 'auth',
    what: 'enterprise-code login token; only its hash is stored',
  },
  captchaActive: {
    pattern: '<t>:captcha:active:{<scene>:<phone>}',
    type: 'string id|client|address',
    ttl: "the code's life",
    owner: 'captcha',
    what: 'the code in force for a phone (keyed hash) and who asked for it; its age is the resend window',
  },
  captchaQuota: {
    pattern: '<t>:captcha:quota:{<scene>:<phone>}',
    type: 'hash n, a:<address>',
    ttl: '1 h',
    owner: 'captcha',
    what: 'codes that a phone (keyed hash) was sent in this hour, and by how many one address asked',
  },
  captchaState: {
    pattern: '<t>:captcha:{<id>}',
    type: 'hash status, attempts',
    ttl: "the code's life",
    owner: 'captcha',
    what: 'copy of what MySQL decided about a code; never the code',
  },
  actionToken: {
    pattern: '<t>:token:action:{<hash>}',
    type: 'string purpose',
    ttl: "the token's life",
    owner: 'captcha',
    what: 'copy of an action token: only its hash and what it is for; MySQL decides',
  },
} as const satisfies Record<string, KeyFamily>;

export type KeyFamilyName = keyof typeof KEY_FAMILIES;

/** Names of the `<…>` parameters of a pattern. */
export type KeyParams<P extends string> = P extends `${string}<${infer Name}>${infer Rest}`
  ? Name | KeyParams<Rest>
  : never;
