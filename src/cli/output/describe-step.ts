import { iso } from '../../time/clock.ts';
import { agentName } from '../../thread/step-view.ts';
import type { Usage } from '../../schema/built-in/schema-parts.ts';
import type { Repository } from '../../git/repository.ts';
import { personOf, statusOf } from '../../thread/thread-commit.ts';
import { lineOfStored } from '../../thread/commit-message.ts';
import type { StepEntry, ThreadState } from '../../thread/thread-state.ts';

/** A step as lists show it. */
export type StepSummary = {
  number: number;
  step: string;
  role: string;
  /** `$status` of its meta. */
  status: string | null;
  agent: string;
  /** The person who took the turn, as `name <email>`; null for an agent. */
  by: string | null;
  /** One line of the reply: the first, of a program's output the last. */
  subject: string;
  startedAt: string;
  completedAt: string;
  durationMs: number;
  usage: Usage | null;
  /** The step's commit. */
  head: string;
};

/** The fields of a step under `--json`. */
export const stepFields: Readonly<Record<keyof StepSummary, string>> = {
  number: "the step's number in its thread, from 1",
  step: 'its hash',
  role: 'who did it',
  status: "the $status of the reply's front matter, or null",
  agent: 'the agent that did the role',
  by: 'the person who took the turn, as name <email>; null for an agent',
  subject: "one line of the reply: the first, of a program's output the last that says something",
  startedAt: 'when the turn began',
  completedAt: 'when it ended',
  durationMs: 'how long it took',
  usage: 'tokens, turns and cost, where the agent told them',
  head: "the step's commit",
};

export async function describeStep(
  repository: Repository,
  thread: Pick<ThreadState, 'start'>,
  entry: StepEntry,
): Promise<StepSummary> {
  const { node, hash, id } = entry.commit;
  return {
    number: node.number,
    step: hash,
    role: node.role,
    status: statusOf(node.meta),
    agent: await agentName(repository, thread.start, entry.commit),
    by: personOf(entry.commit) ?? null,
    subject: lineOfStored(entry.commit, entry.text),
    startedAt: iso(node.startedAtMs),
    completedAt: iso(node.completedAtMs),
    durationMs: node.completedAtMs - node.startedAtMs,
    usage: node.usage,
    head: id,
  };
}
