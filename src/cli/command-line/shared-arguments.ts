import { threadStatuses } from '../../thread/thread-state.ts';
import type { ArgumentSpec, OptionSpec, TextOption } from './command.ts';

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

/** The option that says where a step's files go. */
export const worktreeOption: TextOption = {
  short: 'w',
  value: '<folder>',
  summary: 'make a linked work tree there with the files that the step left',
  candidates: 'folder',
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
  summary: 'where the reason is the output of a program, its last line that says something; else null',
  interruption:
    'of an interrupted one: pid, host and since of its last process, and processes that still work; else null',
};

/** The options by which a person says that something may be published. */
export const publishOptions: Record<'with-commits' | 'allow-secrets', { summary: string }> = {
  'with-commits': { summary: 'send the commits of your code along that threads follow and the remote does not have' },
  'allow-secrets': { summary: 'send threads although they have what looks like a secret' },
} satisfies Record<string, OptionSpec>;

/** The options of commands that send all threads. */
export const pushOptions: typeof publishOptions & { all: { summary: string } } = {
  all: { summary: 'send the threads that are new there, too, and do not ask' },
  ...publishOptions,
};

/** The option that names the remote whose workers do the work. */
export const onOption: TextOption & { candidates: 'remote' } = {
  value: '<remote>',
  summary: 'let workers of this remote do it (uwf worker) with their own agents, and follow what comes back',
  candidates: 'remote',
  conflicts: ['agent'],
};

/** The options of commands that send a thread to a remote. */
export const sendOptions: { on: typeof onOption; 'with-commits': { summary: string } } = {
  on: onOption,
  'with-commits': { summary: `with --on: ${publishOptions['with-commits'].summary}` },
};
