import { beforeEach, describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { appendStep } from '../../../src/thread/append/append-step.ts';
import { forkThread } from '../../../src/thread/fork/fork-thread.ts';
import { getThread } from '../../../src/thread/find/find-thread.ts';
import { keepTallies } from '../../../src/thread/read/kept-tallies.ts';
import { readLightCommit, type LightCommit } from '../../../src/thread/read/light-chain.ts';
import { findStart, readThreadPrompt, startOf, type KnownStarts } from '../../../src/thread/read/read-start.ts';
import { stateHash, type ThreadState } from '../../../src/thread/read/thread-state.ts';
import { createRepositoryWithState } from '../../helpers/memory-repository.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { forge } from '../../verify/forge-commit.ts';
import { startLoop, stepDraft } from '../thread-fixture.ts';

let repository: MapRepository;
let start: ThreadState;
let one: ThreadState;
let two: ThreadState;
let three: ThreadState;

beforeEach(async () => {
  repository = createMapRepository();
  start = await startLoop(repository);
  one = await appendStep(repository, start, stepDraft({ text: 'One.' }));
  two = await appendStep(repository, one, stepDraft({ text: 'Two.' }));
  three = await appendStep(repository, two, stepDraft({ text: 'Three.' }));
});

const withMessage = (from: ObjectId, message: string, parent?: ObjectId): ObjectId =>
  forge(repository, from, (draft) => {
    draft.message = message;
    if (parent !== undefined) draft.parents = [parent];
  });

describe('the start of a thread', () => {
  test('is found from each of its commits', async () => {
    for (const { head } of [start, one, two, three]) {
      expect(await findStart(repository, head.id)).toMatchObject({ id: start.head.id, kind: 'start' });
    }
  });

  test('costs the commits on the way alone', async () => {
    const spied = watched(repository);
    const from = await readLightCommit(repository, three.head.id);
    const passed = new Map();
    const found = await startOf(spied.repository, from, new Map(), passed);
    expect(found.id).toBe(start.head.id);
    expect(spied.read.slice(0, 3)).toEqual([two.head.id, one.head.id, start.head.id]);
    const ofStart = 2;
    expect(spied.read).toHaveLength(3 + ofStart);
    expect([...passed.keys()]).toEqual([three.head.id, two.head.id, one.head.id, start.head.id]);
  });

  test('is itself, from itself', async () => {
    const spied = watched(repository);
    const from = await readLightCommit(repository, start.head.id);
    expect(await startOf(spied.repository, from)).toBe(from);
    expect(spied.read).toEqual([]);
  });

  test('is known from then on to all commits on the way, which are not read again', async () => {
    const known: KnownStarts = new Map();
    await findStart(repository, two.head.id, known);
    expect([...known.keys()]).toEqual([two.head.id, one.head.id, start.head.id]);
    const spied = watched(repository);
    expect(await findStart(spied.repository, one.head.id, known)).toBe(known.get(one.head.id));
    expect(spied.read).toEqual([]);
    expect(await findStart(spied.repository, three.head.id, known)).toBe(known.get(one.head.id));
    expect(spied.read).not.toContain(two.head.id);
    expect(known.has(three.head.id)).toBe(true);
  });

  test('of a fork is that of the thread it came from', async () => {
    const fork = await forkThread(repository, await getThread(repository, three.id), one.head.id);
    expect((await findStart(repository, fork.head))?.id).toBe(start.head.id);
  });

  test('of a child is its own, though its chain goes on to its caller', async () => {
    const parent = { thread: start.start.hash, state: stateHash(one), role: 'writer', head: one.head.id };
    const child = await startLoop(repository, { parent, depth: 1 });
    const step = await appendStep(repository, child, stepDraft());
    const spied = watched(repository);
    expect((await findStart(spied.repository, step.head.id))?.id).toBe(child.head.id);
    expect(spied.read).not.toContain(one.head.id);
  });

  test('is taken for the commit without parents where no message tells of it', async () => {
    const silent = withMessage(start.head.id, 'no trailers\n');
    const first = forge(repository, one.head.id, (draft) => (draft.parents = [silent]));
    const second = forge(repository, two.head.id, (draft) => (draft.parents = [first]));
    const spied = watched(repository);
    expect((await findStart(spied.repository, second))?.id).toBe(silent);
    expect(spied.read).not.toContain((await readLightCommit(repository, first)).commit.tree);
  });

  test('is found by the trees of the commits where its message does not tell of it', async () => {
    const caller = await appendStep(repository, await startLoop(repository, { prompt: 'Another.' }), stepDraft());
    const silent = withMessage(start.head.id, 'no trailers\n', caller.head.id);
    const step = forge(repository, one.head.id, (draft) => (draft.parents = [silent]));
    expect(await findStart(repository, step)).toMatchObject({ kind: 'start', id: silent });
  });

  test.each([
    ['does not tell of it', 'no trailers\n'],
    ['says that it is a step', 'no step\n\nUwf-Type: thread-step\n'],
  ])('is found before the commit of code that it has as parent where its message %s', async (_, message) => {
    const code = await writeChain(repository, undefined, 'first', 'second');
    const isolated = await startLoop(repository, { base: code[1] });
    const silent = withMessage(isolated.head.id, message);
    const step = forge(repository, one.head.id, (draft) => {
      draft.parents = [silent];
      draft.node['start'] = isolated.head.hash;
    });
    expect(await findStart(repository, step)).toMatchObject({ kind: 'start', id: silent });
  });

  test('costs no commit of code behind it', async () => {
    const code = await writeChain(repository, undefined, 'first', 'second');
    const isolated = await startLoop(repository, { base: code[1] });
    const step = await appendStep(repository, isolated, stepDraft());
    const silent = withMessage(isolated.head.id, 'no trailers\n');
    const other = forge(repository, step.head.id, (draft) => (draft.parents = [silent]));
    for (const from of [step.head.id, other]) {
      const spied = watched(repository);
      expect(await findStart(spied.repository, from)).toMatchObject({ kind: 'start' });
      expect(spied.read.filter((id) => code.includes(id))).toEqual([]);
    }
  });

  test('is found by the trees of the commits where the message of a step pretends to be that of a start', async () => {
    const pretender = withMessage(one.head.id, 'one\n\nUwf-Type: thread-start\n');
    const step = forge(repository, two.head.id, (draft) => (draft.parents = [pretender]));
    expect(await findStart(repository, step)).toMatchObject({ kind: 'start', id: start.head.id });
  });

  test('is not found where the chain is cut off or no commit of a thread', async () => {
    const orphan = forge(repository, one.head.id, (draft) => (draft.parents = []));
    expect(await findStart(repository, orphan)).toBeUndefined();
    const from = await readLightCommit(repository, orphan);
    await expect(startOf(repository, from)).rejects.toMatchObject({ code: 'corrupt-thread' });
    repository.objectMap.delete(one.head.id);
    expect(await findStart(repository, two.head.id)).toBeUndefined();
    expect(await findStart(repository, start.head.commit.tree)).toBeUndefined();
  });
});

describe('the start that this machine keeps of a thread', () => {
  const scene = async (keep: (state: ThreadState, other: ThreadState) => ObjectId | undefined) => {
    const withState = await createRepositoryWithState();
    const other = await startLoop(withState, { prompt: 'Another.' });
    const first = await appendStep(withState, await startLoop(withState), stepDraft());
    const state = await appendStep(withState, first, stepDraft());
    const kept = keep(state, other);
    const tally = { ...state.tally, ...(kept && { start: kept }) };
    if (kept !== undefined) keepTallies(withState, state.id, [{ commit: state.head.id, tally }]);
    const spied = watched(withState);
    const found = await findStart(spied.repository, state.head.id, new Map(), state.id);
    expect(found?.id).toBe(state.start.id);
    return spied.read.includes(first.head.id);
  };

  test('spares the way to it', async () => {
    expect(await scene((state) => state.start.id)).toBe(false);
  });

  test.each<[string, Parameters<typeof scene>[0]]>([
    ['there is none', () => undefined],
    ['it is of another thread', (_, other) => other.start.id],
    ['it is no start', (state) => state.head.id],
    ['it cannot be read', (state) => state.head.commit.tree],
  ])('is not believed where %s', async (_, keep) => {
    expect(await scene(keep)).toBe(true);
  });
});

describe('the prompt of a thread', () => {
  test('is found from its head', async () => {
    expect(await readThreadPrompt(repository, three.head.id)).toBe('Write a poem.');
    expect(await readThreadPrompt(repository, start.head.id)).toBe('Write a poem.');
  });

  test('is not found where the thread or its prompt cannot be read', async () => {
    expect(await readThreadPrompt(repository, start.head.commit.tree)).toBeUndefined();
    const without = forge(repository, start.head.id, ({ files, listed, node }) => {
      node['prompt'] = '0000000000000';
      files.delete('prompt.md');
      listed.delete('prompt.md');
    });
    expect((await findStart(repository, without)) satisfies LightCommit | undefined).toMatchObject({ id: without });
    expect(await readThreadPrompt(repository, without)).toBeUndefined();
  });
});
