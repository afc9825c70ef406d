import { describe, expect, test } from 'vitest';
import { registerWorkflow } from '../../src/workflow/registry/find-workflow.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import { appendStep, type StepDraft } from '../../src/thread/append-step.ts';
import { createDice, growThread } from './grow-thread.ts';
import { loop, startLoop, stepDraft } from '../thread/thread-fixture.ts';
import { checkAll, type Reads, refusals, tipOf } from './incoming/incoming-fixture.ts';

describe('checking what a fetch brought', () => {
  test('finds nothing wrong with forty threads and a workflow of a sound remote', async () => {
    const remote = createMapRepository();
    const dice = createDice(7);
    for (let count = 0; count < 40; count++) await growThread(remote, dice);
    await registerWorkflow(remote, loop);
    await registerWorkflow(remote, { ...loop, description: 'another' });
    const faults = await checkAll(remote);
    expect(refusals(faults)).toEqual({});
    expect(remote.refMap.size).toBeGreaterThan(40);
  });

  test('looks at what is new alone', async () => {
    const remote = createMapRepository();
    const draft = (number: number): StepDraft =>
      stepDraft({
        role: number % 2 === 0 ? 'checker' : 'writer',
        rule: number === 1 ? 0 : number % 2 === 0 ? 1 : 2,
        meta: { $status: 'again' },
        prompt: `Do step ${number}.`,
      });
    let state = await startLoop(remote);
    for (let number = 1; number <= 40; number++) {
      state = await appendStep(remote, state, draft(number));
    }
    const local = createMapRepository(new Map(remote.objectMap), new Map(remote.refMap));
    const next = await appendStep(remote, state, draft(41));
    const reads: Reads = new Map();
    const faults = await checkAll(remote, { local, reads });
    expect(refusals(faults)).toEqual({});
    // Of the steps before it is read what rules see of them. What their agents were told rules don't see.
    const isRead = (number: number): boolean =>
      reads.has(hashObject({ type: 'blob', data: Buffer.from(`Do step ${number}.`) }));
    expect(isRead(41)).toBe(true);
    for (let number = 1; number <= 40; number++) expect(isRead(number)).toBe(false);
    expect(reads.has(next.head.id)).toBe(true);
  });

  test('refuses a thread that starts in days to come', async () => {
    const remote = createMapRepository();
    const { head } = await startLoop(remote);
    const faults = await checkAll(remote, { tips: [tipOf('refs/threads/7ZZZZZZZZZ0000000000000000', head.id)] });
    expect(Object.values(refusals(faults))).toEqual([expect.stringContaining('more than 30 days from now')]);
  });

  test('takes a thread that stands on a commit of code which a ref of another thread leads to', async () => {
    const remote = createMapRepository();
    const batch = new ObjectBatch(remote.objects.format);
    const author = { name: 'Ada', email: 'ada@example.com', atMs: 1_795_262_400_000 };
    const message = 'code\n';
    const code = batch.addCommit({ tree: batch.addTree([]), parents: [], author, committer: author, message });
    await remote.objects.write(batch.objects);
    const { id, head } = await startLoop(remote, { base: code });
    const [stray, thread] = ['refs/threads/01M8DBYFTZFFDNM31EXCKTXQ1R', `refs/threads/${id}`];
    for (const tips of [
      [tipOf(stray, code), tipOf(thread, head.id)],
      [tipOf(thread, head.id), tipOf(stray, code)],
    ])
      expect(refusals(await checkAll(remote, { tips }))).toEqual({ [stray]: expect.stringContaining('no index') });
  });

  test('takes a thread of a machine whose clock is days ahead', async () => {
    const repository = createMapRepository();
    const ahead = { ...repository, now: () => repository.now() + 6 * 86_400_000 };
    const { id, head } = await startLoop(ahead);
    expect(refusals(await checkAll(ahead, { tips: [tipOf(`refs/threads/${id}`, head.id)] }))).toEqual({});
  });
});
