export type Limiter = <T>(task: () => Promise<T>) => Promise<T>;

/** Runs at most `limit` tasks at a time, the others wait in line. */
export const createLimiter = (limit: number): Limiter => {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      // the place is handed over, so `running` changes only when nobody waits
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
};
