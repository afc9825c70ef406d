import { expect, test } from 'vitest';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readSteps } from '../../../src/thread/thread-chain.ts';
import { commitToReadFrom } from '../../../src/web/parts/story.tsx';
import { createLoopRepository } from '../../helpers/cli.ts';

test('a page of earlier steps is read from the step behind them, any other from the head', async () => {
  const cli = createLoopRepository();
  await cli.uwf(['run', 'loop', '-p', 'Write']);
  const repository = await cli.open();
  const [{ thread }] = (await cli.json(['thread', 'list', '--all'])) as [{ thread: string }];
  const pointer = await getThread(repository, thread);
  const { steps } = await readSteps(repository, pointer.head, 9);
  const from = (before: number | undefined): Promise<string> => commitToReadFrom(repository, pointer, before);
  expect(await from(3)).toBe(steps[2]?.commit.id);
  expect(await Promise.all([undefined, 5, -1].map(from))).toEqual([pointer.head, pointer.head, pointer.head]);
  await repository.close();
});
