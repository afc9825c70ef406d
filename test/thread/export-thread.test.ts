import { describe, expect, test } from 'vitest';
import { encodeCommit } from '../../src/git/format/objects.ts';
import { type ObjectId, parseObjectId } from '../../src/git/format/object-id.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { type ExportedCommit, type ExportedNode, exportThread } from '../../src/thread/export-thread.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { store, storeTree } from '../verify/forge-commit.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

const who = { name: 'U', email: 'u@x', atMs: 1_795_262_400_000 };

async function linesOf(repository: MapRepository, { id, head }: ThreadState, options = {}, from: ObjectId = head.id) {
  const lines: string[] = [];
  for await (const line of exportThread(repository, { id, head: from }, options)) lines.push(line);
  return lines;
}

type Line = Partial<ExportedCommit & ExportedNode & { role: string }>;
const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line) as Line);
const commitsIn = (lines: readonly string[]): Line[] => parsed(lines).filter(({ commit }) => commit !== undefined);

describe('an export', () => {
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
