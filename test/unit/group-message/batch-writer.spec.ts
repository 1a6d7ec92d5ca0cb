import { BatchWriter } from '../../../src/modules/group-message/batch-writer.js';
import type { GroupMessageStore, RowOutcome } from '../../../src/modules/group-message/group-message.store.js';
import type { PendingRow } from '../../../src/modules/group-message/message-row.js';
import { asTenantId, asTopic } from '../../../src/platform/ids/ids.js';
import { StatementTimeout } from '../../../src/platform/mysql/writer-pool.js';
import { Metrics } from '../../../src/platform/observe/metrics.js';

const tenant = asTenantId('1');
const rowAt = (seq: number): PendingRow =>
  ({ topic: asTopic('grp_7'), seq, body: { bytes: 10 } }) as unknown as PendingRow;

it('a batch that is written in parts asks a storage that has gone away once, not once a part', async () => {
  const tries: number[][] = [];
  const store = {
    insert: async (_: unknown, rows: PendingRow[]): Promise<RowOutcome[]> => {
      tries.push(rows.map((row) => row.seq));
      if (rows.length > 1) throw Object.assign(new Error('one of them is wrong'), { errno: 1366 });
      if (rows[0].seq === 2) throw new StatementTimeout(1);
      return [{ kind: 'stored', id: '1' }];
    },
  } as unknown as GroupMessageStore;
  const writer = new BatchWriter(store, new Metrics());
  const outcomes = await Promise.all([1, 2, 3, 4].map((seq) => writer.append(tenant, rowAt(seq))));
  expect(outcomes.map(({ kind }) => kind)).toEqual(['stored', 'not-stored', 'not-stored', 'not-stored']);
  expect(tries).toEqual([[1, 2, 3, 4], [1], [2]]);
});
