import { describe, expect, test } from 'vitest';
import { encodeCommit } from '../../src/git/format/objects.ts';
import { type ObjectId, parseObjectId } from '../../src/git/format/object-id.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { resumeThread, suspendThread } from '../../src/thread/suspend-thread.ts';
import { type ExportedCommit, type ExportedNode, exportThread, threadRows } from '../../src/thread/export-thread.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { store, storeTree } from '../verify/forge-commit.ts';
import { startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

const who = { name: 'U', email: 'u@x', atMs: 1_795_262_400_000 };

async function linesOf(repository: MapRepository, { id, head }: ThreadState, options = {}, from: ObjectId = head.id) {
  const lines: string[] = [];
  for await (const line of exportThread(repository, { id, head: from }, options)) lines.push(line);
  return lines;
}

type Line = Partial<ExportedCommit & ExportedNode & { role: string }>;
const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line);
const commitsIn = (lines: readonly string[]): Line[] => parsed(lines).filter(({ commit }) => commit !== undefined);

/** A thread of one step that waited once. */
async function pausedOnce() {
  const repository = createMapRepository();
  const start = await startLoop(repository);
  const waiting = await suspendThread(repository, start, suspensionDraft());
  const resumed = await resumeThread(repository, waiting, 'the left one');
  return { repository, start, waiting, resumed, step: await appendStep(repository, resumed, stepDraft()) };
}

describe('an export', () => {
  test('has the rows alone unless it is to have nodes', async () => {
    const { repository, step } = await pausedOnce();
    const rows: string[] = [];
    for await (const row of threadRows(repository, step.id, step.head.id)) rows.push(JSON.stringify(row));
    expect(await linesOf(repository, step)).toEqual(rows);
    expect(await linesOf(repository, step, { withNodes: false })).toEqual(rows);
    const withNodes = await linesOf(repository, step, { withNodes: true });
    expect(withNodes.slice(0, rows.length)).toEqual(rows);
  });

  test('has each commit after its parents, and the head last, each as git has it', async () => {
    const { repository, start, waiting, resumed, step } = await pausedOnce();
    const commits = commitsIn(await linesOf(repository, step, { withNodes: true }));
    expect(commits.map(({ commit }) => commit)).toEqual([start, waiting, resumed, step].map(({ head }) => head.id));
    const { parents, author, committer, message } = step.head.commit;
    expect(commits.at(-1)).toStrictEqual({
      commit: step.head.id,
      parents,
      author,
      committer,
      message,
      files: Object.fromEntries(step.head.index.map(({ path, hash }) => [path, hash])),
    });
  });

  test('has each node once, before the first commit that has it', async () => {
    const { repository, step } = await pausedOnce();
    const seen = new Set<unknown>();
    for (const { node, type, payload, files } of parsed(await linesOf(repository, step, { withNodes: true }))) {
      if (node !== undefined) {
        expect(seen).not.toContain(node);
        expect([typeof type, typeof payload]).toEqual(['string', 'object']);
        seen.add(node);
      }
      for (const hash of Object.values(files ?? {})) expect(seen).toContain(hash);
    }
    expect(seen.size).toBeGreaterThan(10);
  });

  test('has what the thread stands on, each commit once, by whatever way it is reached', async () => {
    const repository = createMapRepository();
    const other = await appendStep(repository, await startLoop(repository, { prompt: 'Other.' }), stepDraft());
    const start = await startLoop(repository);
    const one = await appendStep(repository, start, stepDraft());
    const linked = { waiting: [], nodes: [], missing: [], commits: [start.head.id, other.head.id] };
    const two = await appendStep(repository, one, stepDraft({ linked }));
    const commits = commitsIn(await linesOf(repository, two, { withNodes: true })).map(({ commit }) => commit);
    expect(commits).toHaveLength(5);
    expect(new Set(commits)).toEqual(new Set([start, one, other, two].map(({ head }) => head.id)).add(other.start.id));
    expect(commits.at(-1)).toBe(two.head.id);
  });

  test('names the commits of the code that a thread stands on, and does not look behind them', async () => {
    const repository = createMapRepository();
    const tree = storeTree(repository, []);
    const parents = [parseObjectId('1'.repeat(40))];
    const commit = { tree, parents, author: who, committer: who, message: 'code\n' };
    const base = store(repository, 'commit', encodeCommit(commit));
    const start = await startLoop(repository, { base });
    const commits = commitsIn(await linesOf(repository, start, { withNodes: true }));
    expect(commits.map((line) => [line.commit, line.parents])).toEqual([[start.head.id, [base]]]);
  });
});
