import { aFewAtATime } from '../../../src/platform/mysql/a-few-at-a-time.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const items = Array.from({ length: 100 }, (_, index) => index);

it('does all of them, eight at a time, and answers in their order', async () => {
  let running = 0;
  let most = 0;
  const doubled = await aFewAtATime(items, async (item) => {
    most = Math.max(most, (running += 1));
    for (let turns = item % 5; turns >= 0; turns -= 1) await turn();
    running -= 1;
    return item * 2;
  });
  expect(doubled).toEqual(items.map((item) => item * 2));
  expect(most).toBe(8);
});

it('begins nothing after a failure, and says what it was', async () => {
  const begun: number[] = [];
  const failing = aFewAtATime(items, async (item) => {
    begun.push(item);
    await turn();
    if (item === 10) throw new Error('ten');
  });
  await expect(failing).rejects.toThrow('ten');
  for (let turns = 0; turns < 10; turns += 1) await turn();
  expect(begun.length).toBeLessThan(30);
});

it('has nothing to do for nothing', async () => {
  expect(await aFewAtATime([], () => Promise.reject(new Error('never')))).toEqual([]);
});
