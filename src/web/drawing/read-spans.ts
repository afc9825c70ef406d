import type { NodeHash } from '../../cas/hash.ts';
import { ownKey } from '../../engine/describe/describe-children.ts';
import { describeThread, type ThreadView } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { nothingForDataError } from '../../thread/thread-errors.ts';
import type { Usage } from '../../schema/built-in/schema-parts.ts';
import { type LightCommit, readLightChain } from '../../thread/thread-chain.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { timeOfCommit } from '../../thread/thread-commit.ts';
import { readRunningTurn } from '../live/running-turn.ts';

/** What went on in a thread from one moment to another, in ms since 1970. */
export type Span = {
  /** The role that worked, waited, or called the child. */
  role: string;
  fromMs: number;
  untilMs: number;
  /** It goes on; `untilMs` is now. */
  isOpen: boolean;
  /** Of a child, its own steps; null where it is not known. */
  usage: Usage | null;
} & (
  | { kind: 'step'; number: number; step: NodeHash }
  | { kind: 'turn'; number: number }
  | { kind: 'wait'; suspension: NodeHash; reason: string }
  | { kind: 'child'; thread: ThreadId; workflow: string; key: string }
);

/** More children than this are not looked up for one page. */
const MAX_CHILDREN = 100;

type SpanOptions = { limit: number; before?: number | undefined; from: ObjectId; nowMs: number };

/**
 * Reads what went on in a thread, in the order in which it began: its steps, and what waited and which children worked between
 * them.
 * @param limit how many steps at most
 * @param before only what was before the step of this number
 * @param from the commit from which they are read
 * @returns also how many children of these steps are left out
 */
export async function readSpans(
  engine: EngineContext,
  view: ThreadView,
  { limit, before = Infinity, from, nowMs }: SpanOptions,
): Promise<{ spans: Span[]; othersOfChildren: number }> {
  const commits: LightCommit[] = [];
  let steps = 0;
  for await (const commit of readLightChain(engine.repository, from)) {
    if (commit.kind !== 'step') commits.push(commit);
    else if (commit.node.number >= before) commits.length = 0;
    else {
      commits.push(commit);
      steps += 1;
      if (steps >= limit) break;
    }
  }
  const own = commits.toReversed().flatMap((commit, index, all) => spanOf(commit, all[index + 1], nowMs));
  const shown = new Set<NodeHash>(own.flatMap((span) => (span.kind === 'step' ? [span.step] : [])));
  const isNewest = before === Infinity;
  const calls = view.calls.filter(({ step }) => (step === null ? isNewest : shown.has(step)));
  const spans = [
    ...own,
    ...(await readChildren(engine, calls.slice(-MAX_CHILDREN), nowMs)),
    ...(isNewest ? runningTurn(engine, view, nowMs) : []),
  ];
  return {
    spans: spans.toSorted((a, b) => a.fromMs - b.fromMs),
    othersOfChildren: Math.max(0, calls.length - MAX_CHILDREN),
  };
}

function spanOf({ kind, node, hash }: LightCommit, next: LightCommit | undefined, nowMs: number): Span[] {
  if (kind === 'step') {
    const { role, number, usage, startedAtMs: fromMs, completedAtMs: untilMs } = node;
    return [{ kind, role, number, step: hash, usage, fromMs, untilMs, isOpen: false }];
  }
  if (kind !== 'suspend') return [];
  const { role, reason, usage, suspendedAtMs: fromMs } = node;
  const untilMs = next === undefined ? nowMs : timeOfCommit(next);
  return [{ kind: 'wait', role, reason, suspension: hash, usage, fromMs, untilMs, isOpen: next === undefined }];
}

async function readChildren(engine: EngineContext, calls: ThreadView['calls'], nowMs: number): Promise<Span[]> {
  const spans: Span[] = [];
  for (const { thread, role, key } of calls) {
    // A child whose ref was removed is not known any more, nor is a damaged one.
    const child = await describeThread(engine, thread).catch(nothingForDataError);
    if (child === undefined) continue;
    const { workflow, usage, startedAt, endedAt } = child;
    const untilMs = endedAt === null ? nowMs : Date.parse(endedAt);
    const fromMs = Date.parse(startedAt);
    const isOpen = endedAt === null;
    spans.push({ kind: 'child', role, thread, workflow, key: ownKey(key), usage, fromMs, untilMs, isOpen });
  }
  return spans;
}

function runningTurn({ repository }: EngineContext, view: ThreadView, nowMs: number): Span[] {
  const { turn } = view.holder === null ? {} : readRunningTurn(repository, view);
  if (turn === undefined) return [];
  const { role, number, startedAtMs } = turn;
  return [{ kind: 'turn', role, number, usage: null, fromMs: startedAtMs, untilMs: nowMs, isOpen: true }];
}
