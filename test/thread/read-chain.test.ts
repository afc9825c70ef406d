import { expect, test } from 'vitest';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { walkChain } from '../../src/thread/thread-chain.ts';

test('a long walk lets other work of its process go on', async () => {
  const idOf = (number: number): ReturnType<typeof parseObjectId> => parseObjectId(String(number).padStart(40, '0'));
  const read = (id: string): Promise<never> => {
    const kind = Number(id) === 0 ? 'start' : 'step';
    // The walk looks at nothing else of a commit.
    return Promise.resolve({ id, kind, commit: { parents: [idOf(Math.max(Number(id) - 1, 0))] } } as never);
  };
  let isOtherDone = false;
  setImmediate(() => (isOtherDone = true));
  const seen: boolean[] = [];
  for await (const _ of walkChain(idOf(1000), read)) seen.push(isOtherDone);
  expect([seen.length, seen[0], seen.at(-1)]).toEqual([1001, false, true]);
});
