/** Of a pool's places, what one call may take at the same time. */
const A_FEW = 8;

/**
 * Does `work` for each item, a few at a time: one call that asks for many things must not fill the queue of its tenant's
 * connection pool, which would fail everybody else's calls.
 * @returns the results in the order of the items
 * @throws the first error; nothing is begun after it
 */
export async function aFewAtATime<I, R>(items: readonly I[], work: (item: I) => Promise<R>): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      try {
        results[index] = await work(items[index]);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(A_FEW, items.length) }, lane));
  return results;
}
