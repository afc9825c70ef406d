import type { CommandEntry } from './command-entry.ts';

/** The commands of the noun `thread`, in the order of the overview. */
export const threadCommands: readonly CommandEntry[] = [
  {
    noun: 'thread',
    verb: 'list',
    summary: 'list threads, those that wait for you first',
    isFast: true,
    load: () => import('./commands/thread/list.ts'),
  },
  {
    noun: 'thread',
    verb: 'show',
    summary: 'show where a thread stands',
    isFast: true,
    load: () => import('./commands/thread/show.ts'),
  },
  {
    noun: 'thread',
    verb: 'read',
    summary: 'read what was said in a thread',
    load: () => import('./commands/thread/read.ts'),
  },
  {
    noun: 'thread',
    verb: 'context',
    summary: 'print what the next agent would be told',
    load: () => import('./commands/thread/context.ts'),
  },
  {
    noun: 'thread',
    verb: 'start',
    summary: 'start a thread without running it',
    load: () => import('./commands/thread/start.ts'),
  },
  {
    noun: 'thread',
    verb: 'step',
    summary: 'do the next step of a thread',
    load: () => import('./commands/thread/step.ts'),
  },
  {
    noun: 'thread',
    verb: 'run',
    summary: 'run a thread to its end',
    load: () => import('./commands/thread/run.ts'),
  },
  {
    noun: 'thread',
    verb: 'resume',
    summary: 'answer a suspended thread and run it on',
    load: () => import('./commands/thread/resume.ts'),
  },
  {
    noun: 'thread',
    verb: 'fork',
    summary: 'give a thread a second future',
    load: () => import('./commands/thread/fork.ts'),
  },
  {
    noun: 'thread',
    verb: 'poke',
    summary: 'have the last step done again, with more to say',
    load: () => import('./commands/thread/poke.ts'),
  },
  {
    noun: 'thread',
    verb: 'ask',
    summary: "put a question to a step's agent",
    load: () => import('./commands/thread/ask.ts'),
  },
  {
    noun: 'thread',
    verb: 'compact',
    summary: 'sum up what was said, for the agents that go on',
    load: () => import('./commands/thread/compact.ts'),
  },
  {
    noun: 'thread',
    verb: 'diff',
    summary: 'compare two threads from where they part',
    load: () => import('./commands/thread/diff.ts'),
  },
  {
    noun: 'thread',
    verb: 'join',
    summary: 'wait for the process that runs a thread',
    load: () => import('./commands/thread/join.ts'),
  },
  {
    noun: 'thread',
    verb: 'stop',
    summary: 'end the work on a thread, but not the thread',
    load: () => import('./commands/thread/stop.ts'),
  },
  {
    noun: 'thread',
    verb: 'cancel',
    summary: 'end a thread for good',
    load: () => import('./commands/thread/cancel.ts'),
  },
  {
    noun: 'thread',
    verb: 'verify',
    summary: 'prove that a thread is what it says it is',
    load: () => import('./commands/thread/verify.ts'),
  },
  {
    noun: 'thread',
    verb: 'export',
    summary: 'write a thread as JSON lines',
    load: () => import('./commands/thread/export.ts'),
  },
  {
    noun: 'thread',
    verb: 'import',
    summary: 'store a thread that was exported',
    load: () => import('./commands/thread/import.ts'),
  },
  {
    noun: 'thread',
    verb: 'redact',
    summary: 'take secrets out of a thread that is stored',
    load: () => import('./commands/thread/redact.ts'),
  },
  {
    noun: 'thread',
    verb: 'rm',
    summary: 'remove threads from this repository',
    load: () => import('./commands/thread/rm.ts'),
  },
];
