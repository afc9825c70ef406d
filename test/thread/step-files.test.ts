import { describe, expect, test } from 'vitest';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { appendStep, type StepDraft } from '../../src/thread/append-step.ts';
import {
  diffContents,
  diffSnapshots,
  filesOfStep,
  findRecordedBefore,
  noSnapshot,
  restoreStep,
} from '../../src/thread/step-files.ts';
import type { CommitOf } from '../../src/thread/thread-state.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

const files = new ObjectBatch();
const tree = files.addTree([{ mode: '100644', name: 'a.txt', id: files.addBlob('a') }]);
const user = { name: 'User', email: 'a@b', atMs: 0 };
const checkedOut = files.addCommit({ tree, parents: [], author: user, committer: user, message: 'code' });
const missing = { count: 1, files: [{ path: 'b.txt', reason: 'it cannot be read' }] };
const recorded: StepDraft['workspace'] = { tree, objects: files.objects };

/** A thread whose steps recorded these files, and its steps. */
async function stepsWith(workspaces: readonly StepDraft['workspace'][]) {
  const repository = createMapRepository();
  await repository.objects.write(files.objects);
  let state = await startLoop(repository);
  const steps: CommitOf<'step'>[] = [];
  for (const workspace of workspaces) {
    state = await appendStep(repository, state, stepDraft({ workspace }));
    if (state.head.kind === 'step') steps.push(state.head);
  }
  return { repository, steps };
}

describe('the files of a step', () => {
  test('are none where it recorded none, and whole where none is missing', async () => {
    const { repository, steps } = await stepsWith([undefined, recorded, { ...recorded, missing }]);
    const found = [];
    for (const step of steps) found.push(await filesOfStep(repository, step));
    expect(found).toEqual([
      undefined,
      { tree, commit: undefined, isWhole: true, merging: [], missing: undefined },
      { tree, commit: undefined, isWhole: false, merging: [], missing },
    ]);
  });

  test('are those of the commit alone where they could not be recorded', async () => {
    const { repository, steps } = await stepsWith([{ ...recorded, commit: checkedOut, shortfall: 'it took too long' }]);
    expect(await filesOfStep(repository, steps[0]!)).toMatchObject({
      tree,
      isWhole: false,
      merging: [],
      missing: undefined,
    });
  });

  test('are corrupt where the commit has others than the node names', async () => {
    const { repository, steps } = await stepsWith([recorded]);
    const [step] = steps;
    const other = {
      ...step!,
      node: { ...step!.node, workspace: { ...step!.node.workspace!, tree: files.addTree([]) } },
    };
    await expect(filesOfStep(repository, other)).rejects.toThrow(
      'the tree of its snapshot is not the tree that its node names',
    );
  });

  test('that were not recorded are said to be those of the newest record before', async () => {
    const { repository, steps } = await stepsWith([recorded, recorded, undefined, undefined]);
    expect(await findRecordedBefore(repository, steps[3]!)).toMatchObject({ id: steps[1]?.id });
    expect(await findRecordedBefore(repository, steps[1]!)).toMatchObject({ id: steps[0]?.id });
    expect(await findRecordedBefore(repository, steps[0]!)).toBeUndefined();
    const last = steps[3]!;
    expect(noSnapshot(last, steps[1])).toMatchObject({
      message: `step 4 (${last.hash}) did not record the files it left`,
      code: 'no-snapshot',
      kind: 'data',
      hint: `the newest record before it is that of step 2 (${steps[1]?.hash}); it is the same unless recording was off in between`,
      number: 4,
    });
    expect(noSnapshot(last, undefined).hint).toBe(
      "a role with 'snapshot: on', or 'snapshot: { mode: on }' in .uwf/config.yaml, makes steps record them",
    );
  });

  test('are compared with none where one of the steps recorded none', async () => {
    const { repository, steps } = await stepsWith([recorded, undefined]);
    const [first, second] = steps;
    expect(await diffSnapshots(repository, {}, first!, second!)).toBeUndefined();
    expect(await diffSnapshots(repository, {}, second!, first!)).toBeUndefined();
    expect(await diffContents(repository, {}, tree, second!)).toBeUndefined();
  });

  test('are neither compared nor restored without a disk', async () => {
    const { repository, steps } = await stepsWith([recorded]);
    const [step] = steps;
    const refused = { code: 'no-place-for-files', kind: 'usage', message: 'the repository is not on a disk' };
    await expect(diffSnapshots(repository, {}, step!, step!)).rejects.toMatchObject(refused);
    await expect(diffContents(repository, {}, tree, step!)).rejects.toMatchObject(refused);
    await expect(restoreStep(repository, {}, step!, '/nowhere')).rejects.toMatchObject(refused);
  });
});
