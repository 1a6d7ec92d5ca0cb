import { GroupQueue } from '../../../src/modules/group/group-queue.js';

describe('the queue of a group', () => {
  it('runs one change at a time, in order, and a failed one does not stop the next', async () => {
    const queue = new GroupQueue();
    const log: string[] = [];
    const change = (name: string, fails = false): Promise<void> =>
      queue.run('g', async () => {
        log.push(`${name} begins`);
        await Promise.resolve();
        log.push(`${name} ends`);
        if (fails) throw new Error(name);
      });
    const results = await Promise.allSettled([change('a'), change('b', true), change('c')]);
    expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('lets groups run side by side and refuses what is too much for one', async () => {
    const queue = new GroupQueue();
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const waiting = Array.from({ length: 256 }, () => queue.run('full', () => held));
    await expect(queue.run('full', () => Promise.resolve())).rejects.toMatchObject({ code: 'OVERLOADED' });
    await expect(queue.run('other', () => Promise.resolve('ran'))).resolves.toBe('ran');
    release();
    await Promise.all(waiting);
    await expect(queue.run('full', () => Promise.resolve('again'))).resolves.toBe('again');
  });
});
