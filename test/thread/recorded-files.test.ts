import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { encodeCommit } from '../../src/git/format/objects.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { filesOfStep } from '../../src/thread/step-files.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { Verification } from '../../src/verify/verification.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { store, storeTree } from '../verify/forge-commit.ts';
import { startLoop, stepAt, stepDraft } from './thread-fixture.ts';

const who = { name: 'U', email: 'u@x', atMs: 1_795_262_400_000 };

describe('the files of a step', () => {
  let repository: MapRepository;
  let tree: ObjectId;
  let code: ObjectId;
  let codeTree: ObjectId;

  beforeAll(prepareHashing);

  const createScene = (): Promise<ThreadState> => {
    repository = createMapRepository();
    const file = store(repository, 'blob', 'x');
    tree = storeTree(repository, [['100644', 'a', file]]);
    codeTree = storeTree(repository, []);
    const commit = { tree: codeTree, parents: [], author: who, committer: who, message: 'code\n' };
    code = store(repository, 'commit', encodeCommit(commit));
    return startLoop(repository);
  };

  const filesAt = async (state: ThreadState): ReturnType<typeof filesOfStep> => filesOfStep(repository, stepAt(state));

  test('are in a snapshot on the commit that was checked out', async () => {
    const start = await createScene();
    const workspace = { tree, commit: code, objects: [] };
    const snapshot = await appendStep(repository, start, stepDraft({ workspace }));
    const recorded = { tree, commit: code, isWhole: true, merging: [], missing: undefined };
    expect(await filesAt(snapshot)).toEqual(recorded);
    expect((await new Verification(repository).verify(snapshot.head.id)).findings).toEqual([]);
  });

  test('are in a snapshot also if they are those that were checked out, and on no commit where there was none', async () => {
    const start = await createScene();
    const same = await appendStep(
      repository,
      start,
      stepDraft({ workspace: { tree: codeTree, commit: code, objects: [] } }),
    );
    expect(await filesAt(same)).toEqual({
      tree: codeTree,
      commit: code,
      isWhole: true,
      merging: [],
      missing: undefined,
    });
    expect(same.head.commit.parents.at(-1)).not.toBe(code);
    const unborn = await appendStep(
      repository,
      await startLoop(repository),
      stepDraft({ workspace: { tree, objects: [] } }),
    );
    expect(await filesAt(unborn)).toEqual({ tree, commit: undefined, isWhole: true, merging: [], missing: undefined });
  });

  test('are those of the commit that was checked out if they could not be recorded', async () => {
    const start = await createScene();
    const workspace = { tree: codeTree, commit: code, shortfall: 'too slow', objects: [] };
    const short = await appendStep(repository, start, stepDraft({ workspace }));
    expect(await filesAt(short)).toEqual({
      tree: codeTree,
      commit: code,
      isWhole: false,
      merging: [],
      missing: undefined,
    });
    expect(short.head.commit.parents.at(-1)).toBe(code);
    expect((await new Verification(repository).verify(short.head.id)).findings).toEqual([]);
  });

  test('are not recorded at all if the commit that was checked out could be taken for the snapshot', async () => {
    const start = await createScene();
    const first = await appendStep(repository, start, stepDraft({ workspace: { tree, objects: [] } }));
    if (first.head.kind !== 'step') throw new Error('it is a step');
    const commit = first.head.node.workspace?.commit;
    if (commit === undefined) throw new Error('it has a snapshot');
    const another = await startLoop(repository);
    const workspace = { tree, commit, shortfall: 'too slow', objects: [] };
    const short = await appendStep(repository, another, stepDraft({ workspace }));
    expect(await filesAt(short)).toBeUndefined();
  });
});
