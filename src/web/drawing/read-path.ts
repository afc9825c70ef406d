import type { NodeHash } from '../../cas/hash.ts';
import { pinnedDefinition } from '../../engine/children/sub-workflow.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { decisionContext } from '../../engine/turn/decide.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { decide } from '../../moderator/decide.ts';
import { type LightCommit, readLightChain } from '../../thread/thread-chain.ts';
import { readState } from '../../thread/thread-state.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { END, RESUME, START, type WorkflowDefinition } from '../../workflow/definition.ts';

/** The path of a thread through its workflow, up to a commit. */
export type ThreadPath = {
  definition: WorkflowDefinition;
  /** How often each rule was followed, by its place in the definition. */
  rules: ReadonlyMap<number, number>;
  /** How often a person gave the turn to a role, in place of a rule; by both names as JSON. */
  forced: ReadonlyMap<string, { from: string; to: string; count: number }>;
  /** How many steps each role took, and the newest of them. */
  visits: ReadonlyMap<string, { count: number; newest: NodeHash }>;
  /** The node that the thread has reached: a role, or a reserved name. */
  place: string;
  /** The role whose turn was suspended there; the rule that led to it has been counted. */
  waiting: string | undefined;
};

type Kept = { head: ObjectId; start: ObjectId; workflow: NodeHash; path: ThreadPath };

/** The paths that were read last. Commits never change, so that only newer ones are read the next time. */
const known = new WeakMap<Repository, Map<ThreadId, Kept>>();
const MAX_KNOWN = 8;

/**
 * Reads the path of a thread from the rules that its commits name. Only how a thread ended is not recorded: where several
 * rules can have ended it, the decision is made again.
 */
export async function readPath(
  engine: EngineContext,
  { id, head }: Pick<ThreadPointer, 'id' | 'head'>,
): Promise<ThreadPath> {
  const { repository } = engine;
  const paths = known.get(repository) ?? new Map<ThreadId, Kept>();
  known.set(repository, paths);
  const before = paths.get(id);
  const commits: Passed[] = [];
  let isKnown = false;
  let start = before?.start;
  let workflow = before?.workflow;
  for await (const commit of readLightChain(repository, head)) {
    isKnown = commit.id === before?.head;
    if (isKnown) break;
    const passed = passedAt(commit);
    if (passed !== undefined) commits.push(passed);
    if (commit.kind === 'start') [start, workflow] = [commit.id, commit.node.workflow];
  }
  if (start === undefined || workflow === undefined) throw new Error('a chain ends in its start');
  const definition = await pinnedDefinition(engine, { start: { id: start } }, workflow);
  const beginning = {
    definition,
    rules: new Map(),
    forced: new Map(),
    visits: new Map(),
    place: START,
    waiting: undefined,
  };
  const path = await goOn(engine, id, isKnown && before ? before.path : beginning, commits.toReversed());
  paths.delete(id);
  paths.set(id, { head, start, workflow, path });
  for (const oldest of paths.keys()) if (paths.size > MAX_KNOWN) paths.delete(oldest);
  return path;
}

/** What a path needs of a commit. */
type Passed =
  | { kind: 'step' | 'suspend'; role: string; rule: number | null; hash: NodeHash }
  | { kind: 'end'; isByRule: boolean; returnCode: number; parent: ObjectId | undefined }
  | { kind: 'resume' };

function passedAt({ kind, hash, node, commit }: LightCommit): Passed | undefined {
  // Which way the thread goes is undecided.
  if (kind === 'suspend' && node.cause === 'rule') return undefined;
  if (kind === 'step' || kind === 'suspend') return { kind, role: node.role, rule: node.rule, hash };
  if (kind === 'resume') return { kind };
  if (kind !== 'end') return undefined;
  return { kind, isByRule: node.outcome !== 'cancelled', returnCode: node.returnCode, parent: commit.parents[0] };
}

async function goOn(
  engine: EngineContext,
  id: ThreadId,
  from: ThreadPath,
  commits: readonly Passed[],
): Promise<ThreadPath> {
  const { definition } = from;
  const [rules, forced, visits] = [new Map(from.rules), new Map(from.forced), new Map(from.visits)];
  let { place, waiting } = from;
  const follow = (rule: number | null, to: string): void => {
    // A thread that was fetched can name a rule that its workflow does not have.
    if (rule !== null && definition.moderator[rule]?.to === to) rules.set(rule, (rules.get(rule) ?? 0) + 1);
    else {
      const key = JSON.stringify([place, to]);
      forced.set(key, { from: place, to, count: (forced.get(key)?.count ?? 0) + 1 });
    }
  };
  for (const passed of commits) {
    if (passed.kind === 'resume') {
      // The answer to a suspension leads nowhere else.
      if (place === END) place = RESUME;
      continue;
    }
    if (passed.kind === 'end') {
      const rule = passed.isByRule ? await ruleOfEnd(engine, id, definition, place, passed) : undefined;
      if (rule !== undefined) follow(rule, END);
      [place, waiting] = [END, undefined];
      continue;
    }
    const { kind, role, rule, hash } = passed;
    if (waiting !== role) follow(rule, role);
    if (kind === 'suspend') waiting = role;
    else {
      visits.set(role, { count: (visits.get(role)?.count ?? 0) + 1, newest: hash });
      [place, waiting] = [role, undefined];
    }
  }
  return { definition, rules, forced, visits, place, waiting };
}

/** The rule that ended a thread; `undefined` where none did. */
async function ruleOfEnd(
  { repository }: EngineContext,
  id: ThreadId,
  { name, moderator }: WorkflowDefinition,
  place: string,
  { returnCode, parent }: Extract<Passed, { kind: 'end' }>,
): Promise<number | undefined> {
  const candidates = moderator.flatMap((rule, index) => {
    return rule.from === place && rule.to === END && (rule.returnCode ?? 0) === returnCode ? [index] : [];
  });
  // A thread that could not go on has failed with 1, too.
  if (candidates.length === 0 || (candidates.length === 1 && returnCode !== 1)) return candidates[0];
  if (parent === undefined) return undefined;
  const decision = await decide(moderator, decisionContext(repository, await readState(repository, id, parent), name));
  if (decision.kind === 'end' && candidates.includes(decision.rule)) return decision.rule;
  return candidates.find((index) => moderator[index]?.on === 'limit');
}
