import type { Repository } from '../../git/repository.ts';
import type { ObjectId } from '../../git/object-id.ts';
import { statusOf } from '../../thread/meta-status.ts';
import { readThreadCommit, readTextAt, type ThreadCommitKind } from '../../thread/thread-commit.ts';
import { readReply, readToldChain, type ToldCommit } from '../../thread/told-chain.ts';

/** A commit of a thread as the log tells it. */
export type LogEntry = {
  kind: ThreadCommitKind;
  /** The node's hash. */
  hash: string;
  /** The commit. */
  head: ObjectId;
  role: string | null;
  /** A step's `$status`, `suspended`, or how the thread ended. */
  status: string | null;
  agent: string | null;
  at: string;
  durationMs: number | null;
  usage: object | null;
  /** What was said: the prompt, the reply, the reason, the answer, the summary. */
  text: string;
};

/** A log entry with its commit, and the commits at which child threads that it took in ended. */
export type Logged = { entry: LogEntry; commit: ToldCommit; childEnds: ObjectId[] };

/** The fields of an entry under `--json`. */
export const logFields: Readonly<Record<keyof LogEntry | 'thread', string>> = {
  thread: 'the thread',
  kind: 'start, step, suspend, resume or end',
  hash: "the node's hash",
  head: 'the commit',
  role: 'who did it, or null',
  status: "a step's $status, 'suspended', or how the thread ended",
  agent: 'the agent that did the role, or null',
  at: 'when',
  durationMs: 'how long a step took, or null',
  usage: 'tokens, turns and cost of a step, where they are known',
  text: 'what was said: the prompt, the reply, the reason, the answer or the summary',
};

/** Reads a thread from a commit back to its start, newest first. Reads no further than it is asked. */
export async function* readLog(repository: Repository, from: ObjectId): AsyncGenerator<Logged, void, void> {
  for await (const commit of readToldChain(repository, from)) {
    yield { entry: await describe(repository, commit), commit, childEnds: await childEndsOf(repository, commit) };
  }
}

async function describe(repository: Repository, commit: ToldCommit): Promise<LogEntry> {
  const { kind, hash, id } = commit;
  const common = { kind, hash, head: id, role: null, status: null, agent: null, durationMs: null, usage: null };
  switch (commit.kind) {
    case 'start':
      return { ...common, at: iso(commit.node.startedAtMs), text: await readTextAt(repository, commit, 'prompt.md') };
    case 'step': {
      const { role, meta, usage, startedAtMs, completedAtMs } = commit.node;
      return {
        ...common,
        role,
        status: statusOf(meta),
        agent: agentOf(commit),
        at: iso(completedAtMs),
        durationMs: completedAtMs - startedAtMs,
        usage,
        text: await readReply(repository, commit),
      };
    }
    case 'suspend': {
      const { role, reason, suspendedAtMs } = commit.node;
      return { ...common, role, status: 'suspended', agent: agentOf(commit), at: iso(suspendedAtMs), text: reason };
    }
    case 'resume': {
      const answer = commit.node.answer === null ? '' : await readTextAt(repository, commit, 'answer.md');
      return { ...common, at: iso(commit.node.resumedAtMs), text: answer };
    }
    case 'end': {
      const { outcome, completedAtMs } = commit.node;
      return {
        ...common,
        status: outcome,
        at: iso(completedAtMs),
        text: await readTextAt(repository, commit, 'summary.md'),
      };
    }
  }
}

/** The agent as the commit's author names it: for people, without reading back to the start where it is recorded. */
function agentOf({ commit }: ToldCommit): string {
  return decodeURIComponent(commit.author.email.replace(/@uwf$/, ''));
}

/** Which of a step's further parents are ends of child threads is said by its node. */
async function childEndsOf(repository: Repository, commit: ToldCommit): Promise<ObjectId[]> {
  if (commit.kind !== 'step' || commit.node.childThreads.length === 0) return [];
  const ends: ObjectId[] = [];
  for (const parent of commit.commit.parents.slice(1)) {
    const other = await readThreadCommit(repository, parent).catch(() => undefined);
    if (other?.kind === 'end' && commit.node.childThreads.includes(other.hash)) ends.push(parent);
  }
  return ends;
}

function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
