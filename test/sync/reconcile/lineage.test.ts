import { expect, test } from 'vitest';
import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import { createLineage } from '../../../src/sync/reconcile-thread.ts';
import { parseThreadId, threadTimeMs } from '../../../src/thread/thread-id.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';

const thread = parseThreadId('01KAM4Z0000000000000000000');

async function forkOfTipMadeAt(atMs: number): Promise<ReturnType<typeof parseThreadId>> {
  const { objects } = createMapRepository();
  const batch = new ObjectBatch();
  const who = { name: 'A U Thor', email: 'author@example.com', atMs };
  const tip = batch.addCommit({ tree: batch.addTree([]), parents: [], author: who, committer: who, message: 'tip' });
  await objects.write(batch.objects);
  return createLineage(objects).forkId(thread, tip);
}

test('a fork is called by the time of its tip', async () => {
  expect(threadTimeMs(await forkOfTipMadeAt(1_795_262_400_000))).toBe(1_795_262_400_000);
});

test('a tip that claims a time no id can say holds up its own thread only', async () => {
  await expect(forkOfTipMadeAt(2 ** 52)).rejects.toMatchObject({ kind: 'data', code: 'corrupt-thread' });
});
