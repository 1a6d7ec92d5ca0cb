import { AsyncLocalStorage } from 'node:async_hooks';
import type { EntityManager } from 'typeorm';
import type { TenantId } from '../ids/ids.js';

/** Something that must be committed together with whatever a request commits first. */
export interface CommitMark {
  readonly tenant: TenantId;
  /** Called in each try of the transaction, after its work; what it throws ends the transaction. */
  write(tx: EntityManager): Promise<void>;
}

const marks = new AsyncLocalStorage<{ readonly mark: CommitMark; committed: boolean }>();

/**
 * Runs `work`; the first transaction of the mark's tenant that it commits holds the mark, too. The one thing that travels
 * beside the arguments: every service method would have to hand it on, and one that forgot would break the promise.
 */
export const withCommitMark = <T>(mark: CommitMark, work: () => Promise<T>): Promise<T> =>
  marks.run({ mark, committed: false }, work);

/** The work of a transaction with the mark that belongs to it, and what is to be called after its commit. */
export function marked<T>(
  tenant: TenantId,
  work: (tx: EntityManager) => Promise<T>,
): { work: (tx: EntityManager) => Promise<T>; committed: () => void } {
  const current = marks.getStore();
  if (!current || current.committed || current.mark.tenant !== tenant) return { work, committed: () => undefined };
  return {
    work: async (tx) => {
      const result = await work(tx);
      await current.mark.write(tx);
      return result;
    },
    committed: () => (current.committed = true),
  };
}
