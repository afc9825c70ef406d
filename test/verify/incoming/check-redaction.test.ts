import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { encodeCommit } from '../../../src/git/format/commit.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { appendStep } from '../../../src/thread/append/append-step.ts';
import { activeRef } from '../../../src/thread/thread-refs.ts';
import type { ThreadState } from '../../../src/thread/read/thread-state.ts';
import { isTrueRedaction } from '../../../src/verify/incoming/check-redaction.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { startLoop, stepDraft } from '../../thread/thread-fixture.ts';
import { addNode, forge, store, storeTree, type Draft } from '../forge-commit.ts';

beforeAll(prepareHashing);

type Scene = { repository: MapRepository; state: ThreadState };

async function createScene(text = 'The key is hunter2, and that is all.'): Promise<Scene> {
  const repository = createMapRepository();
  return { repository, state: await appendStep(repository, await startLoop(repository), stepDraft({ text })) };
}

/** Whether the head may be replaced by a commit that is made from it by a change. */
async function isTaken({ repository, state }: Scene, change: (draft: Draft) => void): Promise<boolean> {
  const after = forge(repository, state.head.id, change);
  const commits = new Map<ObjectId, ObjectId>([[state.head.id, after]]);
  return isTrueRedaction(repository.objects, { thread: state.id, commits }, state.head.id);
}

function withText({ repository }: Scene, text: string): (draft: Draft) => void {
  return (draft) => {
    draft.node['content'] = addNode(repository, draft, 'output.md', builtIn.content, { text });
  };
}

describe('a text of a redacted thread', () => {
  test.each([
    ['The key is ‹redacted:token:0a1b2c3d›, and that is all.', true],
    ['‹redacted:token:0a1b2c3d› key is ‹redacted:token:0a1b2c3d›, and that is all.', true],
    ['The key is hunter2, and that is ‹redacted:token:0a1b2c3d›', true],
    ['‹redacted:token:0a1b2c3d›', true],
    ['The key is hunter3, and that is all.', false],
    ['A key is ‹redacted:token:0a1b2c3d›, and that is all.', false],
    ['The key is ‹redacted:token:0a1b2c3d›, and that is it.', false],
    ['The key is ‹redacted:token:0a1b2c3d›, or ‹redacted:token:0a1b2c3d› is all.', false],
    ['The key is hunter2, and ‹redacted:token:0a1b2c3d›and that is all.', false],
    ['', false],
  ])('may have become %j: %j', async (text, isTrue) => {
    const scene = await createScene();
    expect(await isTaken(scene, withText(scene, text))).toBe(isTrue);
  });

  test('may be the same: then nothing was taken out', async () => {
    expect(await isTaken(await createScene(), () => {})).toBe(true);
  });
});

describe('a redacted commit', () => {
  test('may have no other node than before, and each of them', async () => {
    const scene = await createScene();
    const { repository } = scene;
    expect(
      await isTaken(scene, (draft) => void addNode(repository, draft, 'extra.md', builtIn.content, { text: 'more' })),
    ).toBe(false);
    expect(
      await isTaken(scene, (draft) => {
        draft.files.delete('prompt.md');
        draft.listed.delete('prompt.md');
      }),
    ).toBe(false);
  });

  test('has the fields that it had, but for the note of what was taken out', async () => {
    const scene = await createScene();
    expect(await isTaken(scene, (draft) => void (draft.node['redacted'] = { counts: { token: 1 } }))).toBe(true);
    expect(await isTaken(scene, (draft) => void (draft.node['number'] = 2))).toBe(false);
    expect(await isTaken(scene, (draft) => void (draft.node['more'] = 'x'))).toBe(false);
    expect(await isTaken(scene, (draft) => void delete draft.node['number'])).toBe(false);
    expect(await isTaken(scene, (draft) => void (draft.node['attempts'] = ['x']))).toBe(false);
    expect(await isTaken(scene, (draft) => void (draft.node['meta'] = { '‹redacted:token:0a1b2c3d›': 'done' }))).toBe(
      true,
    );
    expect(await isTaken(scene, (draft) => void (draft.node['meta'] = { $status: '‹redacted:token:0a1b2c3d›' }))).toBe(
      true,
    );
    expect(await isTaken(scene, (draft) => void (draft.node['meta'] = { $status: 'again' }))).toBe(false);
    expect(await isTaken(scene, (draft) => void (draft.node['meta'] = ['done']))).toBe(false);
  });

  test('has as many parents, and the time that it had', async () => {
    const scene = await createScene();
    expect(await isTaken(scene, (draft) => void (draft.parents = []))).toBe(false);
    expect(await isTaken(scene, (draft) => void draft.parents.push(draft.parents[0]!))).toBe(false);
    const { repository, state } = scene;
    const data = Buffer.from(repository.objectMap.get(state.head.id)!.data).toString('utf8');
    const later = store(repository, 'commit', data.replace(/^(committer .*) \d+ /m, '$1 1795262999 '));
    const commits = new Map<ObjectId, ObjectId>([[state.head.id, later]]);
    expect(await isTrueRedaction(repository.objects, { thread: state.id, commits }, state.head.id)).toBe(false);
  });
});

describe('the chain of a redacted thread', () => {
  test('leads to the successors of the commits before', async () => {
    const { repository, state } = await createScene();
    const before = state.start.id;
    const start = forge(repository, before, (draft) => {
      draft.node['prompt'] = addNode(repository, draft, 'prompt.md', builtIn.content, {
        text: 'Write ‹redacted:token:0a1b2c3d›.',
      });
    });
    const onto = (parent: ObjectId): ObjectId =>
      forge(repository, state.head.id, (draft) => void (draft.parents = [parent]));
    const isTrue = (pairs: [ObjectId, ObjectId][]): Promise<boolean> =>
      isTrueRedaction(repository.objects, { thread: state.id, commits: new Map(pairs) }, state.head.id);
    expect(
      await isTrue([
        [before, start],
        [state.head.id, onto(start)],
      ]),
    ).toBe(true);
    // Its parent would be no successor of the one before.
    expect(
      await isTrue([
        [before, before],
        [state.head.id, onto(start)],
      ]),
    ).toBe(false);
    expect(await isTrue([[state.head.id, onto(start)]])).toBe(false);
    // What the record does not name is not replaced.
    expect(await isTrue([[before, start]])).toBe(true);
    expect(await isTrue([])).toBe(true);
  });

  test('is refused where the start is another one', async () => {
    const { repository, state } = await createScene();
    const other = await startLoop(repository, { prompt: 'Something else.' });
    const commits = new Map<ObjectId, ObjectId>([[state.start.id, other.head.id]]);
    expect(await isTrueRedaction(repository.objects, { thread: state.id, commits }, state.start.id)).toBe(false);
  });
});

test('a long chain is compared to its start', async () => {
  const repository = createMapRepository();
  const tree = storeTree(repository, []);
  const commitOn = (parents: ObjectId[], atMs: number): ObjectId => {
    const who = { name: 'a', email: 'a@b', atMs };
    const data = encodeCommit({ tree, parents, author: who, committer: who, message: 'x\n' });
    return store(repository, 'commit', data);
  };
  const commits = new Map<ObjectId, ObjectId>();
  let [before, after] = [commitOn([], 1_000), commitOn([], 2_000)];
  commits.set(before, after);
  for (let count = 0; count < 31_000; count += 1) {
    [before, after] = [commitOn([before], 3_000), commitOn([after], 3_000)];
    commits.set(before, after);
  }
  const { id: thread } = await startLoop(createMapRepository());
  expect(await isTrueRedaction(repository.objects, { thread, commits }, before)).toBe(false);
});

describe('the files that a redacted step recorded', () => {
  const isReplaced = async (
    before: (repository: MapRepository) => ObjectId | undefined,
    after: (repository: MapRepository) => ObjectId | undefined,
  ): Promise<boolean> => {
    const repository = createMapRepository();
    const start = await startLoop(repository);
    const stepWith = async (tree: ObjectId | undefined): Promise<ObjectId> => {
      const draft = tree === undefined ? {} : { workspace: { tree, objects: [] } };
      const { head } = await appendStep(repository, start, stepDraft(draft));
      repository.refMap.set(activeRef(start.id), start.head.id);
      return head.id;
    };
    const [was, is] = [await stepWith(before(repository)), await stepWith(after(repository))];
    const commits = new Map([[was, is]]);
    return isTrueRedaction(repository.objects, { thread: start.id, commits }, was);
  };
  const files =
    (content: string | Uint8Array, name = 'a.txt', mode = '100644') =>
    (repository: MapRepository): ObjectId =>
      storeTree(repository, [[mode, name, store(repository, 'blob', content)]]);
  const below =
    (content: string) =>
    (repository: MapRepository): ObjectId =>
      storeTree(repository, [['40000', 'folder', files(content)(repository)]]);

  test('are the same but for marks, in folders, too', async () => {
    expect(await isReplaced(files('key: hunter2\n'), files('key: hunter2\n'))).toBe(true);
    expect(await isReplaced(files('key: hunter2\n'), files('key: ‹redacted:token:0a1b2c3d›\n'))).toBe(true);
    expect(await isReplaced(files('key: hunter2\n'), files('key: hunter3\n'))).toBe(false);
    expect(await isReplaced(below('key: hunter2\n'), below('key: ‹redacted:token:0a1b2c3d›\n'))).toBe(true);
    expect(await isReplaced(below('key: hunter2\n'), below('other: ‹redacted:token:0a1b2c3d›\n'))).toBe(false);
  });

  test('may be in UTF-16 or in no encoding', async () => {
    const utf16 = (text: string): Uint8Array => Buffer.from(text, 'utf16le');
    expect(await isReplaced(files(utf16('key: hunter2')), files(utf16('key: ‹redacted:token:0a1b2c3d›')))).toBe(true);
    expect(await isReplaced(files(utf16('key: hunter2')), files(utf16('kex: ‹redacted:token:0a1b2c3d›')))).toBe(false);
    const bytes = (text: string): Uint8Array => Buffer.concat([Buffer.from([0xff, 0x80]), Buffer.from(text)]);
    expect(await isReplaced(files(bytes('hunter2')), files(bytes('‹redacted:token:0a1b2c3d›')))).toBe(true);
  });

  test('have the names and modes that they had, but for marks', async () => {
    expect(await isReplaced(files('x', 'hunter2.txt'), files('x', '‹redacted:token:0a1b2c3d›.txt'))).toBe(true);
    expect(await isReplaced(files('x', 'hunter2.txt'), files('x', 'other.txt'))).toBe(false);
    expect(await isReplaced(files('x'), files('x', 'a.txt', '100755'))).toBe(false);
    const two = (repository: MapRepository): ObjectId => {
      const id = store(repository, 'blob', 'x');
      return storeTree(repository, [
        ['100644', 'a.txt', id],
        ['100644', 'b.txt', id],
      ]);
    };
    expect(await isReplaced(files('x'), two)).toBe(false);
    expect(await isReplaced(two, files('x'))).toBe(false);
  });

  test('are there after as they were before', async () => {
    expect(await isReplaced(files('x'), () => undefined)).toBe(false);
    expect(await isReplaced(() => undefined, files('x'))).toBe(false);
    expect(
      await isReplaced(
        () => undefined,
        () => undefined,
      ),
    ).toBe(true);
  });
});
