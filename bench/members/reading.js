'use strict';
const assert = require('node:assert/strict');

const limit = 100;

/** Three ways to the same page. */
const sides = {
  warm: 'product, snapshot',
  cold: 'product, after a change of the group',
  plain: 'plain statements',
};

/**
 * The page as it is read without any cache, and with nothing that could be left out: the permission, the page with the
 * profiles joined, the total.
 * @param {import('./crowd').Crowd} crowd
 */
async function plainPage(crowd, { after, offset, role, q, muted }) {
  const groupId = crowd.topic.slice(4);
  const [permission] = await crowd.query(
    `SELECT m.role, g.state FROM im_groups g JOIN im_group_members m ON m.group_id = g.id
     WHERE g.id = ? AND m.uid = ? AND m.state = 'active'`,
    [groupId, crowd.owner.uid],
  );
  assert.equal(permission.state, 'active');
  let where = `m.group_id = ? AND m.state = 'active'`;
  const values = [groupId];
  const and = (sql, ...more) => ((where += ` AND ${sql}`), values.push(...more));
  if (role) and('m.role = ?', role);
  if (muted) and('m.muted_until > CURRENT_TIMESTAMP(3)');
  if (q) and(`COALESCE(NULLIF(m.nickname, ''), u.nickname) COLLATE utf8mb4_general_ci LIKE ?`, `${q}%`);
  const from = () => `FROM im_group_members m LEFT JOIN im_users u ON u.id = m.uid WHERE ${where}`;
  const total = await crowd.query(`SELECT COUNT(*) AS total ${from()}`, values);
  if (after)
    and('m.role = ? AND (m.joined_at > ? OR (m.joined_at = ? AND m.uid > ?))', 'member', after.at, after.at, after.uid);
  const rows = await crowd.query(
    `SELECT m.uid, m.role, m.nickname, m.muted_until, m.joined_at, u.nickname AS name, u.avatar, u.signature, u.gender, u.region
     ${from()} ORDER BY FIELD(m.role, 'owner', 'admin', 'member'), m.joined_at, m.uid LIMIT ? OFFSET ?`,
    [...values, limit, offset ?? 0],
  );
  return { uids: rows.map((row) => row.uid), total: Number(total[0].total) };
}

/** What is read: pages at the beginning and deep inside, filtered and searched. */
async function subjects(crowd) {
  await crowd.sql.query("UPDATE im_group_members SET muted_until = '2037-01-01' WHERE uid % 100 = 0");
  await crowd.sql.query("UPDATE im_group_members SET role = 'admin' WHERE uid BETWEEN 2 AND 6");
  await crowd.change();
  const deep = await positionAt(crowd, Math.floor(crowd.members.length * 0.9));
  return [
    subject(crowd, 'first page', {}, {}),
    subject(crowd, 'deep page', { cursor: deep.cursor }, { after: deep.after }),
    subject(crowd, 'role admin', { role: 'admin' }, { role: 'admin' }),
    subject(crowd, 'muted', { status: 'muted' }, { muted: true }),
    subject(crowd, 'search, many found', { q: 'Guest' }, { q: 'Guest' }),
    subject(crowd, 'search, one found', { q: 'Guest 100 ' }, { q: 'Guest 100 ' }),
  ];
}

function subject(crowd, name, request, plain) {
  const page = () => crowd.services.list.page(crowd.owner, crowd.topic, { limit, ...request });
  const uids = (found) => ({ uids: found.items.map((item) => item.uid), total: found.total });
  return {
    name,
    read: {
      warm: { once: page },
      cold: { once: page, before: () => crowd.change() },
      plain: { once: () => plainPage(crowd, plain) },
    },
    answers: {
      product: async () => uids(await page()),
      plain: () => plainPage(crowd, plain),
    },
  };
}

/** Both must say the same before anything is measured, from MySQL and from the snapshot; that one is warm then. */
async function checkAnswers({ name, answers }) {
  const expected = await answers.plain();
  for (let pass = 0; pass < 2; pass += 1) assert.deepEqual(await answers.product(), expected, name);
}

/** The cursor behind the first `count` members, and what stands there. */
async function positionAt(crowd, count) {
  let cursor;
  let last;
  for (let read = 0; read < count; read += limit) {
    const page = await crowd.services.list.page(crowd.owner, crowd.topic, { limit, cursor });
    cursor = page.nextCursor;
    last = page.items.at(-1);
  }
  return { cursor, after: { at: new Date(last.joinedAt), uid: last.uid } };
}

/** The whole list, page by page; everybody must come exactly once. */
async function walk(crowd, side) {
  const seen = new Set();
  let pages = 0;
  for (let cursor; cursor !== null; pages += 1) {
    const next = side === 'plain' ? await plainStep(crowd, cursor) : await productStep(crowd, cursor);
    for (const uid of next.uids) seen.add(uid);
    cursor = next.cursor;
  }
  assert.equal(seen.size, crowd.members.length + 1);
  return pages;
}

async function productStep(crowd, cursor) {
  const { items, nextCursor } = await crowd.services.list.page(crowd.owner, crowd.topic, { limit, cursor });
  return { uids: items.map((item) => item.uid), cursor: nextCursor };
}

/** Plain paging: by how many have been shown. */
async function plainStep(crowd, shown = 0) {
  const { uids, total } = await plainPage(crowd, { offset: shown });
  return { uids, cursor: shown + uids.length < total ? shown + uids.length : null };
}

module.exports = { sides, subjects, checkAnswers, walk };
