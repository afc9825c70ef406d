import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { iso } from '../time/clock.ts';
import type { JsonObject } from '../json.ts';
import type { MoreLimits } from '../schema/built-in/schema-parts.ts';
import { readSuspension, type Suspension } from './exchange.ts';
import { getThread } from './find-thread.ts';
import { readChain } from './thread-chain.ts';
import { personOf, readTextAt, type ThreadCommit } from './thread-commit.ts';

/**
 * A text of a thread: its task (`start`), the reply of a step, the text of a suspended turn, or the answer to that
 * (`resume`).
 */
export type Said = {
  /** The step's number from 1; 0 for the task; null for what is no step. */
  number: number | null;
  /** The role of the turn; null for the task and an answer. */
  role: string | null;
  /** The step's hash; null for what is no step. */
  step: NodeHash | null;
  /** The structured part of the reply; null for what is no step. */
  meta: JsonObject | null;
  /** '' where nothing was said. */
  text: string;
  /** When, in ISO 8601, UTC. */
  completedAt: string;
  /** The person who said it, as `name <email>`; absent for what an agent said. */
  by?: string;
} & ({ kind: 'start' } | { kind: 'step' } | ({ kind: 'suspend' } & Suspension) | ({ kind: 'resume' } & Resumption));

/** A person's answer that resumes a thread. */
export type Resumption = {
  resumption: NodeHash;
  /** What it answers: a suspension, or the end of a thread that was resumed. */
  suspension: NodeHash;
  /** How much more than its limits the thread may use; absent where nothing was added. */
  more?: MoreLimits;
};

/** Which part of a thread is read. */
export type SaidOptions = {
  /** Only this many of the last steps, and the texts after the first of them. */
  limit?: number | undefined;
  /** Only the texts before the step with this number. */
  before?: number | undefined;
};

/**
 * Reads the texts of a thread, oldest first. It reads only the texts that it returns, and the chain only as far as they go.
 * @param thread an id, or a prefix that only this thread has
 */
export async function readSaid(repository: Repository, thread: string, options: SaidOptions = {}): Promise<Said[]> {
  return readSaidUpTo(repository, (await getThread(repository, thread)).head, options);
}

export async function readSaidUpTo(
  repository: Repository,
  from: ObjectId,
  { limit = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY }: SaidOptions,
): Promise<Said[]> {
  let commits: ThreadCommit[] = [];
  let steps = 0;
  for await (const commit of readChain(repository, from)) {
    if (commit.kind !== 'step') commits.push(commit);
    // Commits after an excluded step are excluded, too.
    else if (commit.node.number >= before) commits = [];
    else {
      steps += 1;
      commits.push(commit);
      // The first step is not counted here, because before it come only the task and suspensions.
      if (steps >= limit && commit.node.number > 1) break;
    }
  }
  const said: Said[] = [];
  for (const commit of commits.toReversed()) {
    const entry = await saidAt(repository, commit);
    const by = personOf(commit);
    if (entry !== undefined) said.push({ ...entry, ...(by !== undefined && { by }) });
  }
  return said;
}

async function saidAt(repository: Repository, commit: ThreadCommit): Promise<Said | undefined> {
  const none = { number: null, role: null, step: null, meta: null };
  switch (commit.kind) {
    case 'start': {
      const text = await readTextAt(repository, commit, 'prompt.md');
      return { kind: 'start', ...none, number: 0, text, completedAt: iso(commit.node.startedAtMs) };
    }
    case 'step': {
      const { number, role, meta, completedAtMs } = commit.node;
      const text = await readTextAt(repository, commit, 'output.md');
      return { kind: 'step', number, role, step: commit.hash, meta, text, completedAt: iso(completedAtMs) };
    }
    case 'suspend':
      return {
        kind: 'suspend',
        ...none,
        ...(await readSuspension(repository, commit)),
        completedAt: iso(commit.node.suspendedAtMs),
      };
    case 'resume': {
      const { suspension, more, resumedAtMs } = commit.node;
      const resumption = { resumption: commit.hash, suspension, ...(more && { more }) };
      const text = commit.node.answer === null ? '' : await readTextAt(repository, commit, 'answer.md');
      return { kind: 'resume', ...none, text, completedAt: iso(resumedAtMs), ...resumption };
    }
    case 'end':
      return undefined;
  }
}
