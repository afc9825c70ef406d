import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { activeRef } from '../../../src/thread/thread-refs.ts';
import { readThreadCommit } from '../../../src/thread/thread-commit.ts';
import { derivedPath, type DerivedKind } from '../../../src/thread/read/derived-path.ts';
import { readChain } from '../../../src/thread/read/read-chain.ts';
import { readState, type CommitOf, type ThreadState } from '../../../src/thread/read/thread-state.ts';
import { appendStep } from '../../../src/thread/append/append-step.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { calledBy, stepDraft } from '../../thread/thread-fixture.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { collidingTexts } from '../../sync/forge-hash.ts';
import { addNode, forge } from '../forge-commit.ts';
import { checkAll, refusals, tipOf, type Reads } from './incoming-fixture.ts';
import { grow, startWith } from './looping-thread.ts';

await prepareHashing();

/** Rules that look at the newest steps, and at what roles add up to. */
const WHEN = `$visits('writer') < 1000 and $first('writer')."$status" = $last('writer')."$status" and $not($steps[-2].text = 'q')`;
const STEPS = 400;
const [text, sameHash] = collidingTexts();

let keptRoot: string;
let remote: MapRepository;
/** The thread after these steps, and what may come next: commits by what is to be said of them. */
let state: ThreadState;
let news: Record<string, ObjectId>;
/** What is wrong with each, for a machine that keeps nothing. */
const faults = new Map<ObjectId, string | undefined>();
/** The thread of 380 steps, and another course that it takes from there. */
let older: ThreadState;
let rewritten: ThreadState;

beforeAll(async () => {
  keptRoot = createTemporaryFolder();
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
  for (const head of Object.values(news)) faults.set(head, await check(machine(state.head.id), head));
});

async function stepOf(number: number): Promise<CommitOf<'step'>> {
  for await (const commit of readChain(remote, state.head.id)) {
    if (commit.kind === 'step' && commit.node.number === number) return commit;
  }
  throw new Error(`there is no step ${number}`);
}

/** A machine that has the thread up to a commit, and keeps what it is given in a folder. */
function machine(head: ObjectId | undefined, stateDir?: string): MapRepository {
  const refs = new Map(head === undefined ? [] : [[activeRef(state.id), head] as const]);
  return { ...createMapRepository(new Map(remote.objectMap), refs), stateDir };
}

async function check(
  local: MapRepository,
  head: ObjectId,
  reads: Reads = new Map(),
  ref = activeRef(state.id),
): Promise<string | undefined> {
  return refusals(await checkAll(remote, { local, reads, tips: [tipOf(ref, head)] }))[ref];
}

const keptFolders = new Map<ObjectId, string>();

/** A folder in which a machine keeps what it found when it fetched the thread up to a commit for the first time. */
async function keptAt(head: ObjectId): Promise<string> {
  let folder = keptFolders.get(head);
  if (folder === undefined) {
    folder = mkdtempSync(join(keptRoot, 'kept-'));
    expect(await check(machine(undefined, folder), head)).toBeUndefined();
    keptFolders.set(head, folder);
  }
  const copy = createTemporaryFolder();
  cpSync(folder, copy, { recursive: true });
  return copy;
}

const pathOf = (stateDir: string, kind: DerivedKind): string => derivedPath({ ...remote, stateDir }, state.id, kind)!;

/** Changes a byte. */
function damage(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
  writeFileSync(path, bytes);
}

describe('what is kept of a thread that goes on', () => {
  test('makes a fetch of one step read as much of a long thread as of a shorter one', async () => {
    // Both are 40 steps beyond the newest tally.
    const at = async (steps: number): Promise<number> => {
      const before = steps === STEPS ? state : await grow(remote, state, steps - STEPS, (number) => `More ${number}.`);
      const local = machine(before.head.id, await keptAt(before.head.id));
      const { head } = await grow(remote, before, 1, () => 'The next.');
      const reads: Reads = new Map();
      expect(await check(local, head.id, reads)).toBeUndefined();
      remote.refMap.set(activeRef(state.id), state.head.id);
      return [...reads.values()].reduce((sum, count) => sum + count, 0);
    };
    const few = await at(STEPS);
    expect(few).toBeLessThan(400);
    expect(await at(2 * STEPS - 16)).toBeLessThanOrEqual(few);
  });

  test('is found again by the first fetch that lacks it', async () => {
    const local = machine(state.head.id, createTemporaryFolder());
    const count = async (): Promise<number> => {
      const reads: Reads = new Map();
      expect(await check(local, news['sound']!, reads)).toBeUndefined();
      return reads.size;
    };
    expect(await count()).toBeGreaterThan(3 * STEPS);
    expect(await count()).toBeLessThan(400);
  });

  const places: [string, () => Promise<string>][] = [
    ['is missing', async () => createTemporaryFolder()],
    ['is of the head', () => keptAt(state.head.id)],
    ['is of an older head', () => keptAt(older.head.id)],
    ['is of another course of the thread', () => keptAt(rewritten.head.id)],
    ['is of a head that is not here yet', () => keptAt(news['sound, and one after it']!)],
    [
      'is damaged',
      async () => {
        const folder = await keptAt(state.head.id);
        for (let at = 0; at < readFileSync(pathOf(folder, 'nodes')).length; at += 5_000) {
          damage(pathOf(folder, 'nodes'), at);
        }
        damage(pathOf(folder, 'tally'), 100);
        return folder;
      },
    ],
    [
      'has a damaged end',
      async () => {
        const folder = await keptAt(state.head.id);
        damage(pathOf(folder, 'nodes'), readFileSync(pathOf(folder, 'nodes')).length - 1);
        return folder;
      },
    ],
    [
      'is cut off',
      async () => {
        const folder = await keptAt(state.head.id);
        truncateSync(pathOf(folder, 'nodes'), 3_000);
        truncateSync(pathOf(folder, 'tally'), 1_000);
        return folder;
      },
    ],
    [
      'is empty, and of another version',
      async () => {
        const folder = await keptAt(state.head.id);
        truncateSync(pathOf(folder, 'nodes'), 0);
        const tally = readFileSync(pathOf(folder, 'tally'), 'utf8');
        writeFileSync(pathOf(folder, 'tally'), tally.replaceAll('tally 1', 'tally 0'));
        return folder;
      },
    ],
    [
      'is a folder',
      async () => {
        const folder = await keptAt(state.head.id);
        rmSync(pathOf(folder, 'nodes'));
        mkdirSync(pathOf(folder, 'nodes'));
        return folder;
      },
    ],
    [
      'is a link',
      async () => {
        const folder = await keptAt(state.head.id);
        rmSync(pathOf(folder, 'nodes'));
        symlinkSync('/dev/zero', pathOf(folder, 'nodes'));
        return folder;
      },
    ],
    [
      'is that of another thread',
      async () => {
        const other = await grow(remote, await startWith(remote, WHEN), STEPS, (number) => `Strange ${number}.`);
        const folder = createTemporaryFolder();
        const faults = await checkAll(remote, {
          local: machine(undefined, folder),
          tips: [tipOf(activeRef(other.id), other.head.id)],
        });
        expect(refusals(faults)).toEqual({});
        mkdirSync(pathOf(folder, 'nodes').replace(/[^/]*$/, ''), { recursive: true });
        for (const kind of ['nodes', 'tally'] as const) {
          cpSync(derivedPath({ ...remote, stateDir: folder }, other.id, kind)!, pathOf(folder, kind));
        }
        return folder;
      },
    ],
  ];

  // Each state with a third of what may come next, in turn, so that each of these meets four states.
  test.each(places.map(([what, prepare], at) => [what, prepare, at] as const))(
    'changes no answer where it %s',
    async (_, prepare, at) => {
      const folder = await prepare();
      for (const [name, head] of Object.entries(news).filter((_news, place) => place % 3 === at % 3)) {
        const copy = createTemporaryFolder();
        cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
        const kept = machine(state.head.id, copy);
        const expected = faults.get(head);
        const isSound = name.startsWith('sound');
        expect(expected === undefined, `${name}: ${expected}`).toBe(isSound);
        expect(await check(kept, head), name).toBe(expected);
        // What the check before has kept tells nothing else.
        expect(await check(kept, head), `${name}, again`).toBe(expected);
      }
    },
  );

  test('serves a fork as well, and changes no answer about it', async () => {
    const folder = await keptAt(state.head.id);
    const fork = activeRef(newThreadId(remote.now()));
    for (const head of Object.values(news)) {
      const copy = createTemporaryFolder();
      cpSync(folder, copy, { recursive: true });
      expect(await check(machine(state.head.id, copy), head, new Map(), fork)).toBe(faults.get(head));
    }
    const local = machine(state.head.id, folder);
    const reads: Reads = new Map();
    expect(await check(local, news['sound']!, reads, fork)).toBeUndefined();
    expect(reads.size).toBeLessThan(400);
    // The fork goes on from what was kept for it.
    local.refMap.clear();
    local.refMap.set(fork, news['sound']!);
    reads.clear();
    expect(await check(local, news['sound, and one after it']!, reads, fork)).toBeUndefined();
    expect(reads.size).toBeLessThan(400);
  });

  test('serves a step that was done again', async () => {
    const earlier = await readState(remote, state.id, state.last!.commit.parents[0]!);
    const { role, rule, meta } = state.last!.node;
    const draft = stepDraft({ role, rule, meta, replaces: state.last!, text: 'Better.' });
    const poked = await appendStep(remote, earlier, draft);
    remote.refMap.set(activeRef(state.id), state.head.id);
    const reads: Reads = new Map();
    expect(await check(machine(state.head.id, await keptAt(older.head.id)), poked.head.id, reads)).toBeUndefined();
    expect(reads.size).toBeLessThan(400);
    expect(await check(machine(state.head.id), poked.head.id)).toBeUndefined();
  });

  test('serves a child of the thread', async () => {
    const { last, head } = state;
    const called = calledBy(state);
    const child = await startWith(remote, 'true', called);
    const reads: Reads = new Map();
    const local = machine(head.id, await keptAt(head.id));
    expect(await check(local, child.head.id, reads, activeRef(child.id))).toBeUndefined();
    expect(reads.size).toBeLessThan(400);
    remote.refMap.delete(activeRef(child.id));
    const wrong = await startWith(remote, 'true', { ...called, parent: { ...called.parent, thread: last!.hash } });
    expect(await check(local, wrong.head.id, new Map(), activeRef(wrong.id))).toBeDefined();
    remote.refMap.delete(activeRef(wrong.id));
  });

  test('is not kept of a thread that was refused', async () => {
    const folder = createTemporaryFolder();
    const local = machine(undefined, folder);
    expect(await check(local, news['has that hash after a sound step']!)).toMatch(/two different objects/);
    expect(() => readFileSync(pathOf(folder, 'nodes'))).toThrow(/ENOENT/);
    expect(() => readFileSync(pathOf(folder, 'tally'))).toThrow(/ENOENT/);
  });

  test('takes in the nodes for which there is no room in memory, and the answers stay the same', async () => {
    const limits = { maxNodesInMemory: 500 };
    for (const name of ['sound, with a link to an old text', 'has the hash of an old text']) {
      const head = news[name]!;
      const tips = [tipOf(activeRef(state.id), head)];
      const expected = refusals(await checkAll(remote, { tips }));
      const local = machine(undefined, createTemporaryFolder());
      expect(refusals(await checkAll(remote, { local, tips, limits })), name).toEqual(expected);
    }
  });

  test('replaces what a killed writer left', async () => {
    const folder = await keptAt(state.head.id);
    const path = pathOf(folder, 'nodes');
    rmSync(path);
    writeFileSync(`${path}.tmp`, 'UWF');
    expect(await check(machine(state.head.id, folder), news['sound']!)).toBeUndefined();
    expect(readFileSync(path).includes(Buffer.from(state.head.id, 'hex'))).toBe(true);
    expect(() => readFileSync(`${path}.tmp`)).toThrow(/ENOENT/);
  });

  test('has the tally and the nodes of the last commit that was checked', async () => {
    const folder = await keptAt(state.head.id);
    const { head } = state;
    expect((await readThreadCommit(remote, head.id)).kind).toBe('step');
    expect(readFileSync(pathOf(folder, 'nodes')).includes(Buffer.from(head.id, 'hex'))).toBe(true);
    expect(readFileSync(pathOf(folder, 'tally'), 'utf8')).toContain(`"steps":384`);
  });
});
