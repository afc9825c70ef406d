import { threadStatuses } from '../../thread/read/thread-status.ts';
import type { ArgumentSpec, TextOption } from './command.ts';

/** The thread that a command is about. */
export const threadArgument: ArgumentSpec & { name: 'thread'; isOptional?: never; isRepeatable?: never } = {
  name: 'thread',
  summary: "the thread's id, or its first characters",
  candidates: 'thread',
};

/** A thread that may be left out. */
export const optionalThreadArgument: ArgumentSpec & { name: 'thread'; isOptional: true; isRepeatable?: never } = {
  ...threadArgument,
  isOptional: true,
};

/** The thread that a command is about; under an agent the one that it works in. */
export const defaultThreadArgument: typeof optionalThreadArgument = {
  ...optionalThreadArgument,
  summary: "the thread's id, or its first characters; by default $UWF_THREAD",
};

/** The node that a command is about. */
export const hashArgument: ArgumentSpec & { name: 'hash'; isOptional?: never; isRepeatable?: never } = {
  name: 'hash',
  summary: "the node's hash, or its first characters",
};

/** The option that lets another agent than the configured one take the next turn. */
export const agentOption: TextOption = {
  value: '<agent>',
  summary: 'let this agent of the configuration take the next turn',
  candidates: 'agent',
};

/** The fields under `--json` that a thread has in a list and by itself. */
export const threadFields: Readonly<Record<string, string>> = {
  thread: 'its id',
  status: `one of ${threadStatuses.join(', ')}`,
  workflow: "its workflow's name",
  head: 'the commit that it is at',
  steps: 'how many steps it has',
  nextRole: 'who is next, or who waits; null when it is over',
  startedAt: 'when it started',
  endedAt: 'when it ended, or null',
  prompt: 'the first line of its prompt',
  reason: 'why it is suspended, or how it ended; else null',
  interruption:
    'of an interrupted one: pid, host and since of its last process, and processes that still work; else null',
};
