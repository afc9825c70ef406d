import { getNode, type NodeSource, type StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { type Beside, nextOfMessage } from '../../thread/commit-message.ts';
import { textNodeOf, textPaths, type ThreadCommit } from '../../thread/thread-commit.ts';
import type { CommitOf, Tally } from '../../thread/thread-state.ts';
import { checkBranch } from '../blocks/check-branch.ts';
import { checkPins } from '../blocks/check-pins.ts';
import { checkFiles } from './check-files.ts';
import { checkMessage } from './check-message.ts';
import { checkNodes } from './check-nodes.ts';
import { checkCaller, checkChildUsage, checkOrder, checkParents, checkTotals } from './check-order.ts';
import { attempt, type ReportFault } from '../fault.ts';
import type { ThreadProgress } from '../chain/progress.ts';
import type { CheckedCommit } from './read-checked.ts';
import type { Replay } from '../replay/replay.ts';
import type { CommitPlace } from '../chain/commit-place.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { isThreadCommit } from '../chain/find-chain.ts';

/** What a commit is checked against. */
export type CheckBasis = {
  start: CommitOf<'start'>;
  /** The thread up to the commit; `undefined` for its start. */
  before: { progress: ThreadProgress; replay: Replay; tally: Tally } | undefined;
  /** The caller's commit, which is the parent of a child's start. */
  caller: CommitPlace | undefined;
  /** The further parents that are commits of threads. */
  threads: ReadonlyMap<ObjectId, CommitPlace>;
};

/**
 * Checks one commit of a thread against the format. Assumes that the commits before it are sound.
 *
 * @param nodes the nodes of its tree that could be read, by path
 * @param known all nodes that it may link to
 * @param sound as in {@link checkNodes}
 */
export async function checkCommit(
  repository: Repository,
  { commit, files, fault }: CheckedCommit,
  { start, before, caller, threads }: CheckBasis,
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
  sound: Set<string>,
  report: ReportFault,
): Promise<void> {
  if (fault !== undefined) report(null, fault);
  const linked = await checkNodes(nodes, known, sound, report);
  await checkFiles(repository, commit, start, files, nodes, known, linked, report);
  await checkTrace(commit, known, report);
  const beside = await attempt(report, null, () => besideOf(commit, nodes, known));
  if (beside !== undefined) checkMessage(commit, beside, before?.progress.head, report);
  if (commit.kind === 'start') {
    checkCaller(commit, caller, report);
    await attempt(report, 'start.json', () => checkBranch(repository, commit, caller, report));
    await attempt(report, null, async () => checkPins(nodes, report));
    await checkBase(repository, commit, report);
  } else if (before) {
    const { progress, replay, tally } = before;
    checkOrder(commit, progress, report);
    checkTotals(commit, tally, report);
    checkParents(commit, progress, threads, linked, nodes.values(), report);
    if (commit.kind === 'step') checkChildUsage(commit, threads, report);
    for (const what of (await attempt(report, null, () => replay.check(progress, commit, known, threads))) ?? []) {
      report(`${commit.kind}.json`, what);
    }
  }
}

/** Checks that a start has no other parents than its caller and its base, which is a commit of the user's code. */
async function checkBase(repository: Repository, start: CommitOf<'start'>, report: ReportFault): Promise<void> {
  const { base, parentThread } = start.node;
  const further = parentThread === null ? start.commit.parents : start.commit.parents.slice(1);
  for (const id of further) if (id !== base) report(null, `nothing accounts for its parent ${id}`);
  if (base === undefined) return;
  if (!further.includes(base)) report('start.json', `its base ${base} is no parent of it`);
  else if (await isThreadCommit(repository, base)) report('start.json', `its base ${base} is a commit of a thread`);
}

/**
 * Reads what the message of a commit tells beside its node.
 * @returns `undefined` if a node is missing, which has been reported
 */
async function besideOf(
  commit: ThreadCommit,
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
): Promise<Beside | undefined> {
  const content = nodes.get(textPaths[commit.kind]);
  if (content === undefined && textNodeOf(commit) !== null) return undefined;
  const text = content === undefined ? '' : payloadOf(content, 'content').text;
  switch (commit.kind) {
    case 'start': {
      const workflow = await known.find(commit.node.workflow);
      return workflow && { text, workflow: payloadOf(workflow, 'workflow').name };
    }
    case 'step':
    case 'suspend': {
      const agent = await known.find(commit.node.agent);
      // Whether it is so, the rules say.
      const next = commit.kind === 'step' ? nextOfMessage(commit.commit.message) : undefined;
      return agent && { text, agent: payloadOf(agent, 'agent'), next };
    }
    case 'resume':
      return { text };
    case 'end': {
      if (commit.node.lastStep === null) return { text };
      const last = await known.find(commit.node.lastStep);
      if (last === undefined) return undefined;
      const { content: said, agent: hash, meta } = payloadOf(last, 'thread-step');
      const [reply, agent] = [await known.find(said), await known.find(hash)];
      if (reply === undefined || agent === undefined) return undefined;
      const isSummedUp = payloadOf(reply, 'content').text === text;
      return { text, ...(isSummedUp && { last: { agent: payloadOf(agent, 'agent'), meta } }) };
    }
  }
}

/** Checks that the trace of a turn is that of its role and agent, and that its tokens are those of its turns. */
async function checkTrace(commit: ThreadCommit, known: NodeSource, report: ReportFault): Promise<void> {
  if (commit.kind !== 'step' && commit.kind !== 'suspend') return;
  const { react, role, agent } = commit.node;
  if (react === null) return;
  await attempt(report, 'trace/session.json', async () => {
    const session = payloadOf(await getNode(known, react), 'react-session');
    if (session.role !== role || session.agent !== agent) {
      report('trace/session.json', 'it is the trace of another role or agent');
    }
    let tokens = 0;
    for (const hash of session.turns) {
      const turn = payloadOf(await getNode(known, hash), 'react-turn');
      tokens += turn.tokens.input + turn.tokens.output;
    }
    if (session.totalTokens !== tokens) report('trace/session.json', `its turns took ${tokens} tokens in all`);
  });
}
