import type { NodeSource, StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { AgentRecord } from '../../schema/built-in/agent.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { CommitOf } from '../thread-state.ts';
import { checkFiles } from './check-files.ts';
import { checkMessage } from './check-message.ts';
import { checkNodes } from './check-nodes.ts';
import { checkCaller, checkOrder } from './check-order.ts';
import { checkTrace } from './check-trace.ts';
import { checkParents } from './check-parents.ts';
import { attempt, type Report } from './finding.ts';
import type { Progress } from './progress.ts';
import type { CheckedCommit } from './read-checked.ts';
import type { Standing } from './standing.ts';
import { payloadOf } from '../../schema/payload-of.ts';

/** Begins to judge a thread; handed in, for deciding is above this room. */
export type Judge = (start: CommitOf<'start'>, prompt: string) => Trial;

/** What is decided on one thread, made again from commit to commit. */
export interface Trial {
  /**
   * Says what a commit decides otherwise than the rules do, a sentence each.
   * @param before the thread up to the commit
   */
  judge(before: Progress, commit: ThreadCommit, nodes: NodeSource): Promise<string[]>;
  /** Says of how many of the newest steps it has to be told; Infinity if of all. */
  reach(nodes: NodeSource): Promise<number>;
  /** Takes in a step, for the decisions after it. */
  add(step: CommitOf<'step'>, text: string, nodes: NodeSource): Promise<void>;
}

/** Where a commit stands that is to be checked. */
export type Place = {
  start: CommitOf<'start'>;
  /** The thread up to the commit; `undefined` for its start. */
  before: { progress: Progress; trial: Trial } | undefined;
  /** Where the commit stands that a child's start has as its parent. */
  caller: Standing | undefined;
  /** The further parents that are commits of threads. */
  threads: ReadonlyMap<ObjectId, Standing>;
};

/**
 * Checks one commit of a thread against all that the format promises, the commits before it taken as they are.
 *
 * @param nodes the nodes of its tree that could be read, by path
 * @param known all nodes that it may link to
 * @param sound as in {@link checkNodes}
 */
export async function checkCommit(
  repository: Repository,
  { commit, files, fault }: CheckedCommit,
  { start, before, caller, threads }: Place,
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
  sound: Set<string>,
  report: Report,
): Promise<void> {
  if (fault !== undefined) report(null, fault);
  const linked = await checkNodes(nodes, known, sound, report);
  await checkFiles(repository, commit, start, files, nodes, known, linked, report);
  await checkTrace(commit, known, report);
  const agent = await attempt(report, null, () => agentOf(commit, known));
  checkMessage(commit, agent, report);
  if (commit.kind === 'start') {
    checkCaller(commit, caller, report);
    for (const other of commit.commit.parents.slice(1)) report(null, `nothing accounts for its parent ${other}`);
  } else if (before) {
    const { progress, trial } = before;
    checkOrder(commit, progress, report);
    checkParents(commit, progress, threads, linked, nodes.values(), report);
    for (const what of (await attempt(report, null, () => trial.judge(progress, commit, known))) ?? []) {
      report(`${commit.kind}.json`, what);
    }
  }
}

async function agentOf(commit: ThreadCommit, known: NodeSource): Promise<AgentRecord | undefined> {
  if (commit.kind !== 'step' && commit.kind !== 'suspend') return undefined;
  const node = await known.find(commit.node.agent);
  return node && payloadOf(node, 'agent');
}
