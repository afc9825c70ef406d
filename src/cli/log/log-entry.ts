import type { ObjectId } from '../../git/format/object-id.ts';
import type { ThreadCommitKind } from '../../thread/thread-commit.ts';
import type { Resumption } from '../../thread/read-said.ts';
import type { SuspensionOutline } from '../../thread/exchange.ts';
import { resumptionFields, suspensionFields } from '../output/suspension-markdown.ts';

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
  /** Of the output of a program: the last line of it that says something. */
  summary?: string;
  /** Of a suspension: what the agent said before it stopped; '' if nothing. */
  said?: string;
  /** The person who did it, as `name <email>`; absent for what an agent or a rule did. */
  by?: string;
} & Partial<Pick<SuspensionOutline, 'reason' | 'cause' | 'refused' | 'trace' | 'due'> & Resumption>;

/** The fields of an entry under `--json`. */
export const logFields: Readonly<Record<string, string>> = {
  thread: 'the thread',
  kind: 'start, step, suspend, resume or end',
  hash: "the node's hash",
  head: 'the commit',
  role: 'who did it, or null',
  status: "a step's $status, 'suspended', or how the thread ended",
  agent: 'the agent that did the role, or null',
  by: 'the person who started, resumed or cancelled it, or took the turn, as name <email>; absent for agents and rules',
  at: 'when',
  durationMs: 'how long a step took, or null',
  usage: 'tokens, turns and cost of a turn, where they are known',
  text: 'what was said: the prompt, the reply, the reason, the answer or the summary',
  summary: 'of the output of a program: the last line of it that says something',
  said: 'of a suspension: what the agent said before it stopped',
  ...suspensionFields,
  ...resumptionFields,
  suspension: 'of a resumption: the hash of what it answers',
  refused:
    'of a suspension: replies that were not accepted: attempt (its hash), errors, interrupted (true for a try that was cut off)',
};
