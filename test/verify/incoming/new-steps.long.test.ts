import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { reindex } from '../../../src/cas/lookup.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { activeRef } from '../../../src/thread/thread-id.ts';
import { readChain } from '../../../src/thread/thread-chain.ts';
import { type CommitOf, readState, type ThreadState } from '../../../src/thread/thread-state.ts';
import { appendStep } from '../../../src/thread/append-step.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { calledBy, stepDraft } from '../../thread/thread-fixture.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { collidingTexts } from '../../sync/forge-hash.ts';
import { addNode, forge, store } from '../forge-commit.ts';
import { checkAll, refusals, tipOf, type Reads } from './incoming-fixture.ts';
import { grow, startWith } from './looping-thread.ts';

await prepareHashing();

/** Rules that look at the newest steps, and at what roles add up to. */
const WHEN = `$visits('writer') < 1000 and $first('writer')."$status" = $last('writer')."$status" and $not($steps[-2].text = 'q')`;
const STEPS = 400;
const [text, sameHash] = collidingTexts();

let remote: MapRepository;
/** The thread after these steps, and what may come next: commits by what is to be said of them. */
let state: ThreadState;
let news: Record<string, ObjectId>;
/** What is wrong with each, for a machine that has nothing of the thread and checks all of it. */
const faults = new Map<ObjectId, string | undefined>();
/** The thread of 380 steps, and another course that it takes from there. */
let older: ThreadState;
let rewritten: ThreadState;

beforeAll(async () => {
  remote = createMapRepository();
  const told = (number: number): string => (number === 3 ? text : `Text ${number}.`);
  older = await grow(remote, await startWith(remote, WHEN), 380, told);
  state = await grow(remote, older, STEPS - 380, told);
  const { objectMap, refMap } = remote;
  const next = await grow(remote, state, 1, () => 'The next.');
  const after = await grow(remote, next, 1, () => 'The one after.');
  const old = await stepOf(5);
  refMap.set(activeRef(state.id), older.head.id);
  rewritten = await grow(remote, older, STEPS + 1 - 380, (number) => `Another text ${number}.`);
  refMap.set(activeRef(state.id), state.head.id);
  const from = (commit: ObjectId, change: Parameters<typeof forge>[2]): ObjectId =>
    forge(createMapRepository(objectMap), commit, change);
  const meta = (link: string): { meta: object } => ({ meta: { $status: 'again', link } });
  news = {
    sound: next.head.id,
    'sound, and one after it': after.head.id,
    'sound, with a link to an old text': from(next.head.id, ({ node }) => Object.assign(node, meta(old.node.content))),
    'links to nothing': from(next.head.id, ({ node }) => Object.assign(node, meta('0123456789ABC'))),
    'has the hash of an old text': from(next.head.id, (draft) => {
      draft.node['content'] = addNode(remote, draft, 'output.md', builtIn.content, { text: sameHash });
    }),
    'has that hash after a sound step': from(after.head.id, (draft) => {
      draft.node['content'] = addNode(remote, draft, 'output.md', builtIn.content, { text: sameHash });
    }),
    'has another number': from(next.head.id, ({ node }) => void (node['number'] = STEPS + 2)),
    'has another previous step': from(next.head.id, ({ node }) => void (node['previous'] = old.hash)),
    'is not what the rules say': from(next.head.id, ({ node }) => void (node['rule'] = 0)),
    'has an old step for a parent': from(next.head.id, ({ node, parents }) => {
      Object.assign(node, meta(old.hash));
      parents.push(old.id);
    }),
    'sound, with a parent of another course': from(next.head.id, ({ node, parents }) => {
      Object.assign(node, meta(rewritten.last!.hash));
      parents.push(rewritten.last!.id);
    }),
    'sound, in another course': rewritten.head.id,
  };
  for (const head of Object.values(news)) faults.set(head, await check(machine(undefined), head));
});

async function stepOf(number: number): Promise<CommitOf<'step'>> {
  for await (const commit of readChain(remote, state.head.id)) {
    if (commit.kind === 'step' && commit.node.number === number) return commit;
  }
  throw new Error(`there is no step ${number}`);
}

/** A machine that has the thread up to a commit. */
function machine(head: ObjectId | undefined, stateDir?: string): MapRepository {
  const refs = new Map(head === undefined ? [] : [[activeRef(state.id), head] as const]);
  return { ...createMapRepository(new Map(remote.objectMap), refs), stateDir };
}

/** A machine whose lookup has the thread up to a commit, and which has the thread up to the same or another one. */
async function indexed(upTo: ObjectId, head = upTo, stateDir = createTemporaryFolder()): Promise<MapRepository> {
  await reindex(machine(upTo, stateDir));
  return machine(head, stateDir);
}

async function check(local: MapRepository, head: ObjectId, ref = activeRef(state.id)): Promise<string | undefined> {
  return refusals(await checkAll(remote, { local, tips: [tipOf(ref, head)] }))[ref];
}

/** Checks a sound head. @returns how many reads that took, those for the lookup with them */
async function countReads(local: MapRepository, head: ObjectId, ref = activeRef(state.id)): Promise<number> {
  const reads: Reads = new Map();
  // What is new is not here yet.
  local.objectMap.delete(head);
  const { repository, read } = watched(local);
  const tips = [tipOf(ref, head)];
  expect(refusals(await checkAll(remote, { local: { ...local, ...repository }, tips, reads }))).toEqual({});
  return [...reads.values()].reduce((sum, count) => sum + count, read.length);
}

describe('a fetch of one step', () => {
  test('reads as much of a long thread as of a shorter one, once the lookup has most of it', async () => {
    const at = async (steps: number): Promise<number> => {
      const before = steps === STEPS ? state : await grow(remote, state, steps - STEPS, (number) => `More ${number}.`);
      const { head } = await grow(remote, before, 1, () => 'The next.');
      const local = await indexed(before.head.id);
      remote.refMap.set(activeRef(state.id), state.head.id);
      return countReads(local, head.id);
    };
    const few = await at(STEPS);
    expect(few).toBeLessThan(250);
    expect(await at(2 * STEPS)).toBeLessThan(few + 20);
  });

  test('brings the lookup up to date where it lacks much', async () => {
    const folder = createTemporaryFolder();
    expect(await countReads(machine(state.head.id, folder), news['sound']!)).toBeGreaterThan(3 * STEPS);
    expect(await countReads(machine(state.head.id, folder), news['sound']!)).toBeLessThan(250);
    // 21 steps more than the lookup has: their indexes are read, and none of earlier ones.
    const local = await indexed(older.head.id, state.head.id);
    expect(await countReads(local, news['sound']!)).toBeLessThan(350);
  });

  const places: [string, () => MapRepository | Promise<MapRepository>][] = [
    ['is in memory', () => machine(state.head.id)],
    ['is missing', () => machine(state.head.id, createTemporaryFolder())],
    ['has the head', () => indexed(state.head.id)],
    ['has an older head', () => indexed(older.head.id, state.head.id)],
    ['has another course of the thread', () => indexed(rewritten.head.id, state.head.id)],
    ['has what is new already', () => indexed(news['sound, and one after it']!, state.head.id)],
    ['has what is wrong already', () => indexed(news['has the hash of an old text']!, state.head.id)],
    ['is damaged', async () => damaged(await indexed(state.head.id))],
    ['is damaged, with an older head', async () => damaged(await indexed(older.head.id, state.head.id))],
    [
      'cannot be brought up to date because of another thread',
      () => {
        const local = machine(state.head.id, createTemporaryFolder());
        local.refMap.set(activeRef(newThreadId(remote)), store(local, 'commit', 'no commit at all'));
        return local;
      },
    ],
  ];

  /** Changes a byte of each 5,000. */
  function damaged(local: MapRepository): MapRepository {
    const path = join(local.stateDir!, 'lookup');
    const bytes = readFileSync(path);
    for (let at = 0; at < bytes.length; at += 5_000) bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
    writeFileSync(path, bytes);
    return local;
  }

  // Each state with a third of what may come next, in turn.
  test.each(places.map(([what, prepare], at) => [what, prepare, at] as const))(
    'is told to be what a first fetch finds it to be, where the lookup %s',
    async (_, prepare, at) => {
      for (const [name, head] of Object.entries(news).filter((_news, place) => place % 3 === at % 3)) {
        const expected = faults.get(head);
        expect(expected === undefined, `${name}: ${expected}`).toBe(name.startsWith('sound'));
        const local = await prepare();
        expect(await check(local, head), name).toBe(expected);
        expect(await check(local, head), `${name}, again`).toBe(expected);
      }
    },
  );

  test('is checked the same in a fork', async () => {
    const fork = activeRef(newThreadId(remote));
    const local = await indexed(state.head.id);
    for (const head of Object.values(news)) expect(await check(local, head, fork)).toBe(faults.get(head));
    expect(await countReads(local, news['sound']!, fork)).toBeLessThan(250);
  });

  test('reads as little where it does a step again', async () => {
    const earlier = await readState(remote, state.id, state.last!.commit.parents[0]!);
    const { role, rule, meta } = state.last!.node;
    const draft = stepDraft({ role, rule, meta, replaces: state.last!, text: 'Better.' });
    const poked = await appendStep(remote, earlier, draft);
    remote.refMap.set(activeRef(state.id), state.head.id);
    expect(await countReads(await indexed(state.head.id), poked.head.id)).toBeLessThan(250);
  });

  test('reads as little where it is the start of a child', async () => {
    const { last, head } = state;
    const child = await startWith(remote, 'true', calledBy(state));
    expect(await countReads(await indexed(head.id), child.head.id, activeRef(child.id))).toBeLessThan(250);
    const called = calledBy(state);
    const wrong = await startWith(remote, 'true', { ...called, parent: { ...called.parent, thread: last!.hash } });
    expect(await check(machine(head.id), wrong.head.id, activeRef(wrong.id))).toBeDefined();
    remote.refMap.delete(activeRef(child.id));
    remote.refMap.delete(activeRef(wrong.id));
  });
});
