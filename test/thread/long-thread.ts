import { encodeNode } from '../../src/cas/node.ts';
import { ObjectBatch, publish } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { Repository } from '../../src/git/repository.ts';
import type { NodeHash } from '../../src/cas/hash.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { agentNode, contentNode, draftCommit } from '../../src/thread/draft-commit.ts';
import { activeRef } from '../../src/thread/thread-id.ts';
import { tallyAfter, type ThreadState, totalsOf } from '../../src/thread/thread-state.ts';
import { eventIn } from '../../src/thread/thread-commit.ts';
import { agent } from './thread-fixture.ts';

/** Adds many steps to a thread that has none, in one write; the step `compactedAt` carries a summary. */
export async function addManySteps(
  repository: Repository,
  state: ThreadState,
  count: number,
  compactedAt: number,
): Promise<ObjectId> {
  const batch = new ObjectBatch();
  const summary = contentNode('All that went before, in short.\n');
  const prompt = contentNode('You are the writer.');
  const by = agentNode(agent).hash;
  let ancestors: NodeHash[] = [];
  let head = state.head.id;
  let { tally } = state;
  for (let number = 1; number <= count; number += 1) {
    const content = contentNode(`Text ${number} of many.\n`);
    const node = encodeNode(builtIn['thread-step'], {
      totals: totalsOf(tally),
      number,
      role: number % 2 === 1 ? 'writer' : 'checker',
      meta: { $status: number % 2 === 1 ? 'done' : 'again' },
      content: content.hash,
      react: null,
      start: state.start.hash,
      previous: ancestors[0] ?? null,
      ancestors,
      compact: number === compactedAt ? summary.hash : null,
      childThreads: [],
      agent: by,
      prompt: prompt.hash,
      rule: 0,
      attempts: [],
      usage: null,
      startedAtMs: 1_795_262_400_000 + number,
      completedAtMs: 1_795_262_400_001 + number,
    });
    const files = [
      { path: 'output.md', node: content },
      { path: 'prompt.md', node: prompt },
    ];
    if (number === compactedAt) files.push({ path: 'compact.md', node: summary });
    const commit = draftCommit(repository, batch, {
      kind: 'step',
      node,
      files,
      parents: [head],
      before: undefined,
      atMs: 1_795_262_400_001 + number,
      beside: { text: `Text ${number} of many.\n`, agent },
    });
    head = batch.addCommit(commit);
    tally = tallyAfter(tally, { id: head, ...eventIn('step', node), commit: { parents: [] } });
    ancestors = [node.hash, ...ancestors].slice(0, 11);
  }
  await publish(repository, batch, [{ name: activeRef(state.id), expected: state.head.id, value: head }]);
  return head;
}
