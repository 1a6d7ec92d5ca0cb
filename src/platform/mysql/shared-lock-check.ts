import { isLockWait } from './mysql-errors.js';
import type { WriterPool, WriterSession } from './writer-pool.js';

/** A row that every migrated database has. */
const PROBE = 'SELECT id FROM im_migrations ORDER BY id LIMIT 1';

/**
 * Two sessions prove that a shared row lock keeps an exclusive one out. It does not on every server that speaks MySQL's
 * protocol, and the fence of the message pipeline is such a lock.
 * @throws Error when it does not hold
 */
export async function proveSharedLocks(writer: WriterPool): Promise<void> {
  const holds = await writer.transaction(async (reader) => {
    await reader.begin(`${PROBE} LOCK IN SHARE MODE`);
    return writer.transaction((other) => isKeptOut(other));
  });
  if (!holds) throw new Error('this server does not honour shared row locks; it cannot hold tenants');
}

async function isKeptOut(other: WriterSession): Promise<boolean> {
  try {
    const rows = await other.begin(`${PROBE} FOR UPDATE NOWAIT`);
    // An empty table proves nothing: there was no row to lock.
    return rows.length === 0;
  } catch (error) {
    if (isLockWait(error)) return true;
    throw error;
  }
}
