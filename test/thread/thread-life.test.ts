import { describe, expect, test } from 'vitest';
import { nodesBehind } from '../../src/cas/commit-nodes.ts';
import { validate } from '../../src/schema/validate.ts';
import { walk } from '../../src/schema/links.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, foldEnded } from '../../src/thread/thread-verbs.ts';
import { getThread, listPointers } from '../../src/thread/find-thread.ts';
import { resolveLinks, threadCas } from '../../src/thread/thread-cas.ts';
import { ThreadMoved } from '../../src/thread/thread-errors.ts';
import { forkIdFor } from '../../src/thread/new-thread-id.ts';
import { activeRef, historyRef } from '../../src/thread/thread-id.ts';
import { readState } from '../../src/thread/thread-state.ts';
import { readThread } from '../../src/thread/thread-chain.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

describe('a thread', () => {
  test('lives from start to end, and reads back as it was written', async () => {
    const { dir, git, open } = createTemporaryRepository();
    const repository = await open();
    const started = await startLoop(repository);
    expect(git('for-each-ref', '--format=%(refname)')).toBe(`refs/threads/${started.id}`);

    const one = await appendStep(repository, started, stepDraft());
    const two = await appendStep(repository, one, stepDraft({ role: 'checker', text: 'Fine.', rule: 1 }));
    const ended = await endThread(repository, two, { outcome: 'completed', returnCode: 0, summary: 'A poem.' });

    const atMs = ended.end?.node.completedAtMs ?? 0;
    expect(git('for-each-ref', '--format=%(refname)')).toBe(historyRef(started.id, atMs));
    expect(await readState(repository, started.id, ended.head.id)).toEqual(ended);
    const read = await readThread(repository, started.id, ended.head.id);
    expect(read.steps.map((step) => [step.commit.node.number, step.commit.node.role, step.text])).toEqual([
      [1, 'writer', '# A poem\n\nRoses are red.\n'],
      [2, 'checker', 'Fine.'],
    ]);
    expect(read.steps[1]?.commit.node.ancestors).toEqual([read.steps[0]?.commit.hash]);
    expect(git('log', '--first-parent', '--reverse', '--format=%s', historyRef(started.id, atMs)).split('\n')).toEqual([
      'loop: Write a poem.',
      'writer: A poem',
      'checker: Fine.',
      'completed: A poem.',
    ]);
    expect(git('show', `${historyRef(started.id, atMs)}~2:output.md`)).toBe('# A poem\n\nRoses are red.');
    expectCleanFsck(dir);
  });

  test('every node of it validates, and is reached from its head', async () => {
    const repository = await createTemporaryRepository().open();
    const one = await appendStep(
      repository,
      await startLoop(repository),
      stepDraft({
        attempts: [{ text: 'no', errors: ['missing front matter'], usage: null }],
      }),
    );
    const ended = await endThread(repository, one, { outcome: 'completed', returnCode: 0, summary: 'ok' });
    const source = nodesBehind(repository, [ended.head.id]);
    const types: (string | undefined)[] = [];
    for await (const node of walk(source, ended.head.hash)) {
      types.push(node.typeName);
      expect(await validate(source, node)).toEqual({ valid: true, errors: [] });
    }
    expect(new Set(types)).toEqual(
      new Set([
        'thread-end',
        'content',
        'thread-start',
        'workflow',
        'role',
        'role-schema',
        'agent',
        'thread-step',
        'attempt',
      ]),
    );
  });

  test('ancestors are the eleven steps before, newest first', async () => {
    const repository = await createTemporaryRepository().open();
    let state = await startLoop(repository);
    for (let i = 0; i < 14; i += 1) state = await appendStep(repository, state, stepDraft({ text: `step ${i}` }));
    const { steps } = await readThread(repository, state.id, state.head.id);
    const hashes = steps.map((step) => step.commit.hash);
    expect(steps[13]?.commit.node.ancestors).toEqual(hashes.slice(2, 13).toReversed());
    expect(steps[13]?.commit.node.previous).toBe(hashes[12]);
  });
});

describe('of two writers to one head', () => {
  test('one wins; the other step is kept as a fork under the derived id', async () => {
    const { dir, open } = createTemporaryRepository();
    const repository = await open();
    const started = await startLoop(repository);
    const results = await Promise.allSettled([
      appendStep(repository, started, stepDraft({ text: 'mine' })),
      appendStep(repository, started, stepDraft({ text: 'yours' })),
    ]);
    expect(results.map((result) => result.status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const lost = results.find((result) => result.status === 'rejected');
    const moved: unknown = lost?.reason;
    if (!(moved instanceof ThreadMoved)) throw new Error('the loser was not told');
    const pointers = await listPointers(repository);
    expect(pointers).toHaveLength(2);
    const fork = pointers.find((pointer) => pointer.id !== started.id);
    expect(fork?.id).toBe(moved.fork);
    if (!fork) throw new Error('no fork');
    expect(fork.id).toBe(forkIdFor(started.id, fork.head, 1_795_262_401_000));
    const texts = await Promise.all(
      pointers.map(async ({ id, head }) => (await readThread(repository, id, head)).steps[0]?.text),
    );
    expect(new Set(texts)).toEqual(new Set(['mine', 'yours']));
    expectCleanFsck(dir);
  });

  test('of an append and an end one wins, and the step is not lost', async () => {
    const { open } = createTemporaryRepository();
    const repository = await open();
    const one = await appendStep(repository, await startLoop(repository), stepDraft());
    await endThread(repository, one, { outcome: 'cancelled', returnCode: 130, summary: 'stop' });
    await expect(appendStep(repository, one, stepDraft({ text: 'late' }))).rejects.toBeInstanceOf(ThreadMoved);
    expect(await listPointers(repository)).toHaveLength(2);
  });
});

describe('an ending that was cut in two', () => {
  test('a step that was appended in between is kept as a fork', async () => {
    const { git, open } = createTemporaryRepository();
    const repository = await open();
    const started = await startLoop(repository);
    const one = await appendStep(repository, started, stepDraft());
    const ended = await endThread(repository, one, { outcome: 'completed', returnCode: 0, summary: 'ok' });
    git('update-ref', activeRef(one.id), one.head.id);
    const two = await appendStep(repository, one, stepDraft({ text: 'in between' }));
    await foldEnded(repository, await getThread(repository, ended.id));
    const fork = forkIdFor(one.id, two.head.id, two.head.commit.committer.atMs);
    expect(git('rev-parse', activeRef(fork))).toBe(two.head.id);
    expect(await repository.refs.read(activeRef(one.id))).toBeUndefined();
  });
});

describe('what is put under a thread', () => {
  test('and a reply links to is refused when it is taken back before the step is stored', async () => {
    const { git, open } = createTemporaryRepository();
    const repository = await open();
    const state = await startLoop(repository);
    const cas = threadCas(repository, state.id);
    const link = await cas.put('A note.');
    const linked = await resolveLinks(repository, state, [link]);
    expect(linked).toEqual({ waiting: [link], nodes: [], commits: [], missing: [] });
    await cas.delete(link);
    const draft = stepDraft({ meta: { $status: 'done', link }, linked });
    await expect(appendStep(repository, state, draft)).rejects.toMatchObject({ code: 'link-taken-back', hash: link });
    expect(git('rev-parse', activeRef(state.id))).toBe(state.head.id);
    await cas.put('A note.');
    expect((await appendStep(repository, state, draft)).tally.steps).toBe(1);
  });
});
