import { describe, expect, test } from 'vitest';
import type { Repository } from '../../../src/git/repository.ts';
import { appendStep, type StepDraft } from '../../../src/thread/append/append-step.ts';
import { readChain } from '../../../src/thread/read/read-chain.ts';
import type { ThreadState } from '../../../src/thread/read/thread-state.ts';
import { readReply, readLightChain, type LightCommit } from '../../../src/thread/read/light-chain.ts';
import { createTemporaryRepository, type TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { startLoop, stepDraft } from '../thread-fixture.ts';

async function threadOf(
  drafts: readonly Partial<StepDraft>[],
): Promise<{ temporary: TemporaryRepository; repository: Repository; state: ThreadState }> {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  let state = await startLoop(repository);
  for (const draft of drafts) state = await appendStep(repository, state, stepDraft(draft));
  return { temporary, repository, state };
}

async function newest(repository: Repository, head: ThreadState['head']['id'], most: number): Promise<LightCommit[]> {
  const told: LightCommit[] = [];
  for await (const commit of readLightChain(repository, head)) {
    told.push(commit);
    if (told.length === most) break;
  }
  return told;
}

describe('a thread as it is told', () => {
  test('is the thread as it is read', async () => {
    const { repository, state } = await threadOf([{ text: 'One.\n' }, { text: 'Two.' }]);
    const told = await newest(repository, state.head.id, Infinity);
    const read = [];
    for await (const { id, hash, kind, node, commit } of readChain(repository, state.head.id)) {
      read.push({ id, hash, kind, node, commit });
    }
    expect(told.map(({ id, hash, kind, node, commit }) => ({ id, hash, kind, node, commit }))).toEqual(read);
  });

  test.each([
    ['one line', 'Done.'],
    ['a line end', 'Done.\n'],
    ['several paragraphs', '# Done\n\nAll of it.\n\n- a\n- b\n'],
    ['nothing', ''],
    ['blank lines around it', '\n\n  Done.\n\n\n'],
    ['carriage returns', 'a\r\nb\r\n'],
    ['what looks like a trailer', 'Uwf-Node: 0000000000000\n\nUwf-Role: x'],
    ['more than a message carries', `${'long '.repeat(3000)}end`],
  ])('has the reply to the letter: %s', async (_, text) => {
    const { repository, state } = await threadOf([{ text }]);
    const [told] = await newest(repository, state.head.id, 1);
    expect(told?.kind === 'step' && (await readReply(repository, told))).toBe(text);
  });

  test('costs three objects for each step that is looked at, however long the thread', async () => {
    const counts: number[] = [];
    for (const steps of [4, 16]) {
      const { temporary, state } = await threadOf(Array.from({ length: steps }, (_, at) => ({ text: `Reply ${at}.` })));
      const { repository, read } = watched(await temporary.open());
      for (const told of await newest(repository, state.head.id, 3)) {
        if (told.kind === 'step') await readReply(repository, told);
      }
      counts.push(read.length);
    }
    expect(counts).toEqual([9, 9]);
  });

  test('believes no message that names another node', async () => {
    const { temporary, repository, state } = await threadOf([{ text: 'One.' }]);
    const { git } = temporary;
    const [told] = await newest(repository, state.head.id, 1);
    const message = String(told?.commit.message).replace(/^Uwf-Node: .*$/m, `Uwf-Node: ${state.start.hash}`);
    const forged = git('commit-tree', `${state.head.id}^{tree}`, '-p', state.start.id, '-m', message);
    const [read] = await newest(await temporary.open(), forged as typeof state.head.id, 1);
    expect(read).toMatchObject({ kind: 'step', hash: state.head.hash });
  });
});
