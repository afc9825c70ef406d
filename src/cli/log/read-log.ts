import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { agentOfMessage, lineOfOutput } from '../../thread/commit-message.ts';
import { outlineSuspension } from '../../thread/exchange.ts';
import { findStart, type LightCommit, readChildEnds, readLightChain, readReply } from '../../thread/thread-chain.ts';
import { personOf, statusOf } from '../../thread/thread-commit.ts';
import { callerCommit } from '../../thread/thread-state.ts';
import { iso } from '../../time/clock.ts';
import type { Palette } from '../output/text.ts';
import { formatShort, type LogEntry } from './log-entry.ts';

type Logged = { entry: LogEntry; commit: LightCommit };

/** Reads a thread from a commit back to its start, newest first. Reads only as far as the caller iterates. */
async function* readLog(repository: Repository, from: ObjectId): AsyncGenerator<Logged, void, void> {
  for await (const commit of readLightChain(repository, from)) {
    const entry = await describe(repository, commit);
    const summary = lineOfOutput(commit, entry.text);
    const by = personOf(commit);
    yield { entry: { ...entry, ...(summary !== null && { summary }), ...(by !== undefined && { by }) }, commit };
  }
}

/** Reads the newest entries of a thread's log, newest first. */
export async function readEntries(repository: Repository, from: ObjectId, most: number): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  if (most === 0) return entries;
  for await (const { entry } of readLog(repository, from)) if (entries.push(entry) >= most) break;
  return entries;
}

async function describe(repository: Repository, commit: LightCommit): Promise<LogEntry> {
  const { kind, hash, id } = commit;
  const common = { kind, hash, head: id, role: null, status: null, agent: null, durationMs: null, usage: null };
  switch (commit.kind) {
    case 'start':
      return { ...common, at: iso(commit.node.startedAtMs), text: await readReply(repository, commit) };
    case 'step': {
      const { role, meta, usage, startedAtMs, completedAtMs } = commit.node;
      return {
        ...common,
        role,
        status: statusOf(meta),
        agent: agentOfMessage(commit.commit.message),
        at: iso(completedAtMs),
        durationMs: completedAtMs - startedAtMs,
        usage,
        text: await readReply(repository, commit),
      };
    }
    case 'suspend': {
      const { suspension: _hash, text, ...outline } = await outlineSuspension(repository, commit);
      const at = iso(commit.node.suspendedAtMs);
      // The record of the agent is mostly at the start, which would have to be read.
      const agent = agentOfMessage(commit.commit.message);
      return { ...common, ...outline, status: 'suspended', agent, at, text: outline.reason, said: text };
    }
    case 'resume': {
      const { suspension, more, resumedAtMs } = commit.node;
      const resumption = { resumption: hash, suspension, ...(more && { more }) };
      return { ...common, at: iso(resumedAtMs), text: await readReply(repository, commit), ...resumption };
    }
    case 'end': {
      const { outcome: status, completedAtMs } = commit.node;
      return { ...common, status, at: iso(completedAtMs), text: await readReply(repository, commit) };
    }
  }
}

/** So many of the threads that one turn called are drawn. */
export const MAX_DRAWN = 20;

type Line = { line: string; entry: LogEntry | undefined };

/** The heads of children that are in no history yet, by the commit each was called from, and how many more there are. */
export type OpenChildren = ReadonlyMap<ObjectId, { heads: readonly ObjectId[]; left: number }>;

/**
 * Draws a thread with the threads that it called, newest first, as `git log --graph` draws merges: a child stands beside
 * the line of its caller, between the step that called it and the step before. Below a child's start its caller goes on, up
 * to the first start of the call stack.
 * @param open the children, at any depth, that no step has taken in: each stands above the commit that it was called from
 */
export async function* drawGraph(
  repository: Repository,
  head: ObjectId,
  paint: Palette,
  open: OpenChildren = new Map(),
): AsyncGenerator<Line, void, void> {
  async function* draw(from: ObjectId, rail: string, above: OpenChildren): AsyncGenerator<Line, void, void> {
    for await (const { entry, commit } of readLog(repository, from)) {
      const { heads, left: leftOpen } = above.get(commit.id) ?? { heads: [], left: 0 };
      if (leftOpen > 0) yield { line: `${rail}| ${paint.quiet(`… and ${leftOpen} more`)}`, entry: undefined };
      for (const child of heads) yield* branch(child, rail, above);
      const childEnds = commit.kind === 'step' ? await readChildEnds(repository, commit) : [];
      const key = commit.kind === 'start' && commit.node.call?.block ? commit.node.call.key : undefined;
      yield { line: `${rail}*${childEnds.length > 0 ? '  ' : ''} ${formatShort(entry, paint, key)}`, entry };
      for (const { id } of childEnds.slice(0, MAX_DRAWN)) {
        yield { line: `${rail}|\\`, entry: undefined };
        yield* branch(id, rail, above);
      }
      const left = childEnds.length - MAX_DRAWN;
      if (left > 0)
        yield {
          line: `${rail}| ${paint.quiet(`… and ${left} more, which 'git log --graph' draws`)}`,
          entry: undefined,
        };
    }
  }

  async function* branch(from: ObjectId, rail: string, above: OpenChildren): AsyncGenerator<Line, void, void> {
    yield* draw(from, `${rail}| `, above);
    yield { line: `${rail}|/`, entry: undefined };
  }

  yield* draw(head, '', open);
  for (let caller = await callerOf(repository, head); caller; caller = await callerOf(repository, caller)) {
    yield* draw(caller, '', new Map());
  }
}

/** The commit from which a child thread was called; `undefined` for any other thread. */
export async function callerOf(repository: Repository, commit: ObjectId): Promise<ObjectId | undefined> {
  const start = await findStart(repository, commit);
  return start && callerCommit(start);
}
