import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { readHistory } from '../../src/thread/context-history.ts';
import { exportThread, Rebuild, RefusedImport, threadRows } from '../../src/thread/export-thread.ts';
import { findChildren } from '../../src/thread/find-children.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { forkThread } from '../../src/thread/thread-verbs.ts';
import { findReferrers, nodesOfThread, threadCas } from '../../src/thread/thread-cas.ts';
import {
  findStart,
  readChildEnds,
  readReply,
  readSteps,
  readThread,
  readThreadPrompt,
  type WholeThread,
} from '../../src/thread/thread-chain.ts';
import { diffThreads, filesOfStep } from '../../src/thread/step-files.ts';
import { readSaid } from '../../src/thread/read-said.ts';
import { outlineSuspension, readSuspension } from '../../src/thread/exchange.ts';
import { readTrace } from '../../src/thread/step-trace.ts';
import { stepView } from '../../src/thread/step-view.ts';
import { type CommitOf, isOver, readState, statusOfHead, type ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { growRichThread } from '../verify/rich-thread.ts';
import { stepDraft } from './thread-fixture.ts';

/**
 * Compares a value with a golden file, but for ids and hashes, which differ from run to run.
 * `npx vitest run test/thread/rich-thread.test.ts --update` writes the files anew.
 */
async function expectGolden(name: string, value: unknown): Promise<void> {
  const masked = JSON.stringify(value, null, 2)
    .replaceAll(/\b[0-9a-f]{40}\b/g, '<id>')
    .replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '<thread>')
    .replaceAll(/\b(?=[0-9]*[A-Z])[0-9A-HJKMNP-TV-Z]{13}\b/g, '<hash>');
  await expect(`${masked}\n`).toMatchFileSnapshot(`../../fixtures/golden/rich-thread/${name}.json`);
}

let repository: MapRepository;
let ended: ThreadState;
let again: ThreadState;
let wholeEnded: WholeThread;
let wholeAgain: WholeThread;

function wholeOf({ id, head }: ThreadState): Promise<WholeThread> {
  return readThread(repository, id, head.id);
}

beforeAll(async () => {
  await prepareHashing();
  repository = createMapRepository();
  const states = await growRichThread(repository);
  [ended, again] = [states[0]!, states[1]!];
  [wholeEnded, wholeAgain] = [await wholeOf(ended), await wholeOf(again)];
});

function commitsOf<K extends 'step' | 'suspend'>(kind: K): CommitOf<K>[] {
  return wholeAgain.chain.filter((commit): commit is CommitOf<K> => commit.kind === kind);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('the rows of a thread', () => {
  test('tell all that happened', async () => {
    await expectGolden('rows', await collect(threadRows(repository, again.id, again.head.id)));
    const end = (await collect(threadRows(repository, ended.id, ended.head.id))).at(-1);
    await expectGolden('end-row', end);
  });
});

describe('an exported thread', () => {
  const linesOf = (state: ThreadState, options = {}): Promise<string[]> =>
    collect(exportThread(repository, { id: state.id, head: state.head.id }, options));

  test('makes the same commits again', async () => {
    const lines = await linesOf(ended, { withNodes: true });
    expect(new Set(lines).size).toBe(lines.length);
    const empty = createMapRepository();
    // Recorded files and what is pinned are not exported.
    const snapshots = new Set<string>(commitsOf('step').flatMap(({ node }) => node.workspace?.commit ?? []));
    for (const [id, object] of repository.objectMap) {
      if (object.type !== 'commit' || snapshots.has(id)) empty.objectMap.set(id, object);
    }
    const rebuild = new Rebuild(empty.objects);
    for (const line of lines) await rebuild.add(line);
    expect(rebuild).toMatchObject({ head: ended.head.id, thread: ended.id });
    await empty.objects.write(rebuild.batch.objects);
    expect((await readThread(empty, ended.id, ended.head.id)).steps.map(({ text }) => text)).toEqual(
      wholeEnded.steps.map(({ text }) => text),
    );
  });

  test('has rows alone where nodes are not asked for', async () => {
    const roles = (await linesOf(ended, {})).map((line) => (JSON.parse(line) as { role: string }).role);
    expect(roles).toEqual([
      '__start__',
      'writer',
      '__suspend__',
      '__resume__',
      'checker',
      'writer',
      'checker',
      '__end__',
    ]);
  });

  test.each([
    ['no JSON', 'x', /line 1.*JSON/],
    ['a list', '[]', 'it is no JSON object'],
    ['something else', '{"a":1}', 'it is neither a row nor a node nor a commit'],
    ['a start without an id', '{"role":"__start__","meta":{}}', 'it does not say which thread it is'],
    ['a start of no thread', '{"role":"__start__","meta":{"thread":"x"}}', 'it does not say which thread it is'],
    ['a node without a type', '{"node":"x","payload":1}', 'a node needs a type and a payload'],
    ['a node of another hash', '{"node":"x","type":"0000000000000","payload":1}', 'it says it is node x, and is'],
    ['a commit of nothing', '{"commit":"x"}', 'a commit needs parents, author, committer, message and files'],
    [
      'a commit with a node that is not there',
      '{"commit":"x","parents":[],"message":"","files":{"a":"0000000000000"}}',
      "'a' is node 0000000000000, which does not come before it",
    ],
    [
      'a commit with no author',
      '{"commit":"x","parents":[],"message":"","files":{}}',
      'author and committer need a name, an email and a time',
    ],
    [
      'a commit on a parent that is not here',
      `{"commit":"x","parents":["${'a'.repeat(40)}"],"message":"","files":{}}`,
      `it stands on ${'a'.repeat(40)}, which neither comes before it nor is in this repository`,
    ],
    ['a commit on no id', '{"commit":"x","parents":["y"],"message":"","files":{}}', "'y' is no object id"],
  ])('is refused with %s', async (_, line, reason) => {
    const add = new Rebuild(createMapRepository().objects).add(line);
    await expect(add).rejects.toBeInstanceOf(RefusedImport);
    await expect(add).rejects.toThrow(reason);
    await expect(add).rejects.toMatchObject({ line: 1, code: 'import-refused' });
  });

  test('has rows before nodes', async () => {
    const lines = await linesOf(ended, { withNodes: true });
    const node = lines.find((line) => line.startsWith('{"node"'))!;
    const rebuild = new Rebuild(createMapRepository().objects);
    await rebuild.add(node);
    await expect(rebuild.add(lines[0]!)).rejects.toThrow('(line 2): a row has to come before the nodes');
  });
});

describe('a trace', () => {
  test('is read back as it was handed in', async () => {
    const trace = await readTrace(repository, commitsOf('step')[0]!);
    await expectGolden('trace', trace);
    expect(await readTrace(repository, commitsOf('step')[1]!)).toBeUndefined();
    expect((await readTrace(repository, commitsOf('suspend')[0]!))?.turns).toHaveLength(2);
  });

  test('is read in parts', async () => {
    const numbersOf = async (which: Parameters<typeof readTrace>[2]): Promise<number[]> =>
      (await readTrace(repository, commitsOf('step')[0]!, which))!.turns.map(({ number }) => number);
    expect(await numbersOf({ limit: 1 })).toEqual([2]);
    expect(await numbersOf({ limit: 5 })).toEqual([1, 2]);
    expect(await numbersOf({ before: '2' })).toEqual([1]);
    const { turns } = (await readTrace(repository, commitsOf('step')[0]!))!;
    expect(await numbersOf({ before: turns[1]!.hash.toLowerCase() })).toEqual([1]);
    await expect(numbersOf({ before: '3' })).rejects.toMatchObject({ code: 'unknown-turn' });
    await expect(numbersOf({ before: '0' })).rejects.toThrow("the trace has no turn '0'");
    await expect(numbersOf({ before: 'XYZ' })).rejects.toMatchObject({
      hint: 'it has 2; name one by its number or by its hash',
    });
  });
});

describe('what was said', () => {
  test('is read whole, or in parts', async () => {
    await expectGolden('said', await readSaid(repository, again.id));
    const placesOf = async (options: object): Promise<(string | number | null)[]> =>
      (await readSaid(repository, again.id, options)).map(({ kind, number }) => number ?? kind);
    expect(await placesOf({ limit: 1 })).toEqual([4, 'resume']);
    expect(await placesOf({ before: 2 })).toEqual([0, 1, 'suspend', 'resume']);
    expect(await placesOf({ before: 3, limit: 1 })).toEqual(['suspend', 'resume', 2].slice(2));
  });

  test('in a suspended turn is read with and without rejected replies', async () => {
    const [commit] = commitsOf('suspend');
    const suspension = await readSuspension(repository, commit!);
    await expectGolden('suspension', suspension);
    const refused = suspension.refused.map(({ attempt, errors }) => ({ attempt, errors }));
    expect(await outlineSuspension(repository, commit!)).toEqual({ ...suspension, refused });
    expect(await readReply(repository, commit!)).toBe('Which one?');
  });

  test('is read of the last steps alone', async () => {
    const { steps, start } = await readSteps(repository, again.head.id, 2);
    expect(steps.map(({ commit, text }) => [commit.node.number, text])).toEqual([
      [3, 'Tulips.'],
      [4, 'Good.'],
    ]);
    expect(start).toBeUndefined();
    const all = await readSteps(repository, again.head.id, 9);
    expect(all.steps).toHaveLength(4);
    expect(all.start?.id).toBe(again.start.id);
  });
});

describe('a thread', () => {
  test.each(['writer', 'checker'])('is told to the %s as it was seen, if that is on its chain', async (role) => {
    for (const { id } of wholeAgain.chain) {
      const listener = { role, seen: id, maxCharacters: 60_000 };
      const { seen, ...read } = await readHistory(repository, again, listener);
      expect(read).toEqual(await readHistory(repository, again, { ...listener, seen: undefined }));
      const until = await readState(repository, again.id, id);
      if (seen !== undefined) expect(seen.steps).toBe(until.tally.steps);
    }
    const other = await readHistory(repository, again, { role, seen: ended.head.id, maxCharacters: 60_000 });
    expect(other.seen).toBeUndefined();
  });

  test('is told with the summary of what came before, and what passed with the role', async () => {
    const middle = wholeAgain.chain[3]!;
    const state = await readState(repository, again.id, middle.id);
    await expectGolden(
      'history-of-checker',
      await readHistory(repository, state, { role: 'checker', seen: undefined, maxCharacters: 60_000 }),
    );
    await expectGolden(
      'history-of-writer',
      await readHistory(repository, again, { role: 'writer', seen: middle.id, maxCharacters: 60_000 }),
    );
  });

  test('has a child, whose end a step took in', async () => {
    const calling = commitsOf('step')[1]!;
    const [end, ...others] = await readChildEnds(repository, calling);
    expect(others).toEqual([]);
    const child = await readState(repository, ended.id, end!.id);
    expect(child.start.node).toMatchObject({ parentRole: 'checker', parentThread: ended.start.hash });
    expect(child.start.node.call?.thread).toBe(ended.id);
    expect(await findChildren(repository, ended)).toEqual([]);
    expect(await readChildEnds(repository, commitsOf('step')[0]!)).toEqual([]);
  });

  test('has a start and a prompt, which forks share', async () => {
    expect((await findStart(repository, again.head.id))?.id).toBe(again.start.id);
    expect((await findStart(repository, ended.head.id))?.id).toBe(again.start.id);
    expect(await findStart(repository, again.start.commit.tree)).toBeUndefined();
    expect(await readThreadPrompt(repository, again.head.id)).toBe('Write a poem.');
    expect(await readThreadPrompt(repository, again.start.commit.tree)).toBeUndefined();
  });

  test('has all nodes of its commits, each once, and says which link to which', async () => {
    const nodes = await nodesOfThread(repository, again.head.id);
    expect(nodes[0]).toBe(again.head.hash);
    expect(new Set(nodes)).toEqual(new Set(wholeAgain.chain.flatMap(({ index }) => index.map(({ hash }) => hash))));
    expect(nodes).toHaveLength(new Set(nodes).size);
    const entries = await threadCas(repository, again.id).list();
    const note = entries.find(({ hash }) => hash !== undefined)!.hash;
    const referrers = await findReferrers(repository, threadCas(repository, again.id), again.head.id, [
      note,
      again.start.hash,
    ]);
    expect(referrers.get(again.start.hash)?.map((one) => one.in)).toEqual(
      wholeAgain.chain.slice(1).map(({ hash }) => hash),
    );
  });

  test('is compared with a fork from where they part', async () => {
    const fork = await forkThread(repository, await getThread(repository, ended.id), commitsOf('step')[1]!.id);
    const state = await readState(repository, fork.thread, fork.head);
    await appendStep(repository, state, stepDraft({ rule: 2, text: 'Weeds.' }));
    const pointers = [await getThread(repository, ended.id), await getThread(repository, fork.thread)] as const;
    const diff = await diffThreads(repository, ...pointers);
    expect(diff).toMatchObject({ a: ended.id, b: fork.thread, firstDifference: 3 });
    expect(diff.ancestor).toMatchObject({ head: fork.head, kind: 'step', number: 2 });
    expect(diff.steps.map(({ number, a, b, isSame }) => [number, a?.text, b?.text, isSame])).toEqual([
      [3, 'Tulips.', 'Weeds.', false],
      [4, 'Good.', undefined, false],
    ]);
    expect(diff.files).toBeNull();
    const self = await diffThreads(repository, pointers[0], pointers[0]);
    expect(self).toMatchObject({ firstDifference: null, steps: [] });
    const [end] = await readChildEnds(repository, commitsOf('step')[1]!);
    const child = await readState(repository, ended.id, end!.id);
    const other = await getThread(repository, child.start.node.id);
    expect((await diffThreads(repository, pointers[0], other)).ancestor).toBeNull();
  });

  test('shows rules its steps', async () => {
    const views = await Promise.all(wholeAgain.steps.map((step) => stepView(repository, again, step)));
    await expectGolden('steps-of-rules', views);
  });

  test('names the files that a step recorded', async () => {
    const [first, second] = commitsOf('step');
    expect(await filesOfStep(repository, first!)).toBeUndefined();
    expect(await filesOfStep(repository, second!)).toEqual({
      tree: second!.node.workspace?.tree,
      commit: undefined,
      isWhole: true,
      merging: [],
      missing: undefined,
    });
    const tree = new ObjectBatch().addTree([]);
    const node = { ...second!.node, workspace: { ...second!.node.workspace!, tree } };
    await expect(filesOfStep(repository, { ...second!, node })).rejects.toThrow(
      'the tree of its snapshot is not the tree that its node names',
    );
  });
});

test('the status of a thread by itself is that of its head', () => {
  const headOf = (kind: string, outcome?: string): never => ({ kind, node: { outcome } }) as never;
  expect(statusOfHead(headOf('end', 'completed'))).toBe('ended');
  expect(statusOfHead(headOf('end', 'failed'))).toBe('failed');
  expect(statusOfHead(headOf('end', 'cancelled'))).toBe('cancelled');
  expect(statusOfHead(headOf('suspend'))).toBe('suspended');
  expect(statusOfHead(headOf('step'))).toBe('idle');
  expect((['ended', 'failed', 'cancelled', 'idle', 'running'] as const).filter(isOver)).toEqual([
    'ended',
    'failed',
    'cancelled',
  ]);
});
