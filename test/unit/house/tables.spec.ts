import { filesBelow, moduleOf } from './sources.js';

/** Tables that have no entity: nobody reads them through TypeORM. */
const WITHOUT_ENTITY: Record<string, string> = {
  im_group_messages: 'group-message',
  im_message_changes: 'message-log',
  im_message_change_heads: 'message-log',
  im_message_hides: 'message-log',
  im_messages: 'direct-message',
  im_direct_chats: 'direct-message',
  im_topic_cursors: 'conversation',
  im_favorites: 'favorite',
  im_topic_settings: 'conversation',
  im_audit_logs: 'audit',
  im_captchas: 'captcha',
  im_action_tokens: 'captcha',
  im_admin_audit_logs: 'audit',
  im_idempotency_keys: 'idempotency',
  hg_sys_config: 'config',
  hg_sys_dict_type: 'config',
  hg_sys_dict_data: 'config',
  im_third_party_configs: 'config',
  im_user_privacy: 'user',
  im_blocks: 'relation',
  im_follows: 'relation',
  im_friend_requests: 'relation',
  im_group_bans: 'group',
  im_group_join_requests: 'group',
  im_group_invites: 'group',
  im_group_announcements: 'group',
  im_group_announcement_versions: 'group',
  im_group_announcement_confirms: 'group',
};

const sources = filesBelow('src', '.ts').filter(({ path }) => !path.startsWith('src/migrations/'));
const entities = sources
  .filter(({ path }) => path.endsWith('.entity.ts'))
  .flatMap(({ path, text }) =>
    [...text.matchAll(/@Entity\((?:\{ name: )?'(im_\w+|hg_\w+)'[\s\S]*?export class (\w+)/g)].map(
      ([, table, name]) => ({
        table,
        name,
        owner: moduleOf(path),
      }),
    ),
  );
const owners: Record<string, string> = {
  ...WITHOUT_ENTITY,
  ...Object.fromEntries(entities.map(({ table, owner }) => [table, owner])),
};

const WRITE =
  /\b(?:INSERT(?:\s+IGNORE)?\s+INTO|REPLACE\s+INTO|UPDATE|DELETE\s+FROM|TRUNCATE(?:\s+TABLE)?)\s+`?((?:im|hg)_\w+)/gi;

describe('tables', () => {
  it('each one that a migration makes has an owner', () => {
    const made = filesBelow('src/migrations', '.ts').flatMap(({ text }) =>
      [...text.matchAll(/CREATE TABLE(?: IF NOT EXISTS)? `?(\w+)/g)].map(([, table]) => table),
    );
    expect(made.length).toBeGreaterThan(5);
    expect(made.filter((table) => owners[table] === undefined)).toEqual([]);
  });

  it('are written by SQL of their owners alone', () => {
    const writes = sources.flatMap(({ path, text }) =>
      [...text.matchAll(WRITE)].map(([, table]) => ({ path, table, by: moduleOf(path) })),
    );
    // The rule must see something, or it proves nothing.
    expect(writes.some(({ table }) => table === 'im_group_messages')).toBe(true);
    expect(writes.filter(({ table, by }) => owners[table] !== by)).toEqual([]);
  });

  it('their entities are used by their owners alone', () => {
    const strangers = sources
      .filter(({ path }) => path !== 'src/schema.ts')
      .flatMap(({ path, text }) =>
        entities
          .filter(({ name, owner }) => owner !== moduleOf(path) && new RegExp(`\\b${name}\\b`).test(text))
          // A type alone reads nothing and writes nothing.
          .filter(({ name }) => !new RegExp(`import type \\{[^}]*\\b${name}\\b`).test(text))
          .map(({ name }) => `${path} uses ${name}`),
      );
    expect(strangers).toEqual([]);
  });
});
