import type { Command } from './command.ts';

/** A command before it is loaded: enough for the overview and for finding it. */
export type CommandEntry = {
  /** Absent for a command of one word. */
  noun?: string;
  verb: string;
  summary: string;
  /** Starts without what takes long to load, commander included. */
  isFast?: true;
  load: () => Promise<{ command: Command }>;
};

/** Commands that belong together in the overview. */
export type CommandGroup = { title: string; commands: readonly CommandEntry[] };

/**
 * All commands. Only the one that is chosen is loaded.
 *
 * The summaries stand here a second time so that the overview loads nothing; a test compares.
 */
export const commandGroups: readonly CommandGroup[] = [
  {
    title: 'start here',
    commands: [
      { verb: 'init', summary: 'prepare this repository for workflows', load: () => import('./commands/init.ts') },
      { verb: 'run', summary: 'start a thread and run it to its end', load: () => import('./commands/run.ts') },
      { verb: 'log', summary: 'tell the story of a thread', load: () => import('./commands/log.ts') },
    ],
  },
  {
    title: 'workflows: who does what, and who is next',
    commands: [
      {
        noun: 'workflow',
        verb: 'list',
        summary: 'list the workflows of this repository',
        load: () => import('./commands/workflow/list.ts'),
      },
      {
        noun: 'workflow',
        verb: 'show',
        summary: 'show the roles and rules of a workflow',
        load: () => import('./commands/workflow/show.ts'),
      },
      {
        noun: 'workflow',
        verb: 'validate',
        summary: 'find every mistake in a workflow',
        load: () => import('./commands/workflow/validate.ts'),
      },
      {
        noun: 'workflow',
        verb: 'simulate',
        summary: 'tell which threads a changed workflow would have led elsewhere',
        load: () => import('./commands/workflow/simulate.ts'),
      },
      {
        noun: 'workflow',
        verb: 'graph',
        summary: 'draw a workflow',
        load: () => import('./commands/workflow/graph.ts'),
      },
      {
        noun: 'workflow',
        verb: 'add',
        summary: 'register a workflow under its name',
        load: () => import('./commands/workflow/add.ts'),
      },
      {
        noun: 'workflow',
        verb: 'rm',
        summary: 'remove a registered workflow',
        load: () => import('./commands/workflow/rm.ts'),
      },
    ],
  },
  {
    title: 'threads: runs of workflows',
    commands: [
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
        summary: 'wait for whoever runs a thread',
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
        verb: 'rm',
        summary: 'remove threads from this repository',
        load: () => import('./commands/thread/rm.ts'),
      },
    ],
  },
  {
    title: 'steps: what each role did',
    commands: [
      {
        noun: 'step',
        verb: 'list',
        summary: 'list the steps of a thread',
        load: () => import('./commands/step/list.ts'),
      },
      { noun: 'step', verb: 'show', summary: 'show all about a step', load: () => import('./commands/step/show.ts') },
      {
        noun: 'step',
        verb: 'read',
        summary: 'print what an agent said, or was told',
        load: () => import('./commands/step/read.ts'),
      },
      {
        noun: 'step',
        verb: 'turns',
        summary: 'show how an agent came to its reply, turn by turn',
        load: () => import('./commands/step/turns.ts'),
      },
      {
        noun: 'step',
        verb: 'restore',
        summary: 'give back the files that a step left',
        load: () => import('./commands/step/restore.ts'),
      },
    ],
  },
  {
    title: 'nodes: what threads are made of',
    commands: [
      { noun: 'cas', verb: 'list', summary: 'list what was put', load: () => import('./commands/cas/list.ts') },
      { noun: 'cas', verb: 'put', summary: 'store a text or a value', load: () => import('./commands/cas/put.ts') },
      { noun: 'cas', verb: 'get', summary: 'print what a node holds', load: () => import('./commands/cas/get.ts') },
      {
        noun: 'cas',
        verb: 'cat',
        summary: 'print the stored bytes of a node',
        load: () => import('./commands/cas/cat.ts'),
      },
      {
        noun: 'cas',
        verb: 'has',
        summary: 'tell whether a node is there',
        load: () => import('./commands/cas/has.ts'),
      },
      {
        noun: 'cas',
        verb: 'refs',
        summary: 'list the nodes that a node links to',
        load: () => import('./commands/cas/refs.ts'),
      },
      {
        noun: 'cas',
        verb: 'walk',
        summary: 'list all that a node or a thread reaches',
        load: () => import('./commands/cas/walk.ts'),
      },
      { noun: 'cas', verb: 'rm', summary: 'take back what was put', load: () => import('./commands/cas/rm.ts') },
      {
        noun: 'schema',
        verb: 'list',
        summary: 'list the types of nodes',
        load: () => import('./commands/schema/list.ts'),
      },
      { noun: 'schema', verb: 'show', summary: 'print a schema', load: () => import('./commands/schema/show.ts') },
      { noun: 'schema', verb: 'put', summary: 'register a schema', load: () => import('./commands/schema/put.ts') },
    ],
  },
  {
    title: 'this machine',
    commands: [
      {
        noun: 'agent',
        verb: 'list',
        summary: 'list the agents that are configured here',
        load: () => import('./commands/agent/list.ts'),
      },
      {
        noun: 'agent',
        verb: 'show',
        summary: 'show an agent and what it can be told',
        load: () => import('./commands/agent/show.ts'),
      },
      {
        noun: 'agent',
        verb: 'test',
        summary: 'try an agent out with one turn',
        load: () => import('./commands/agent/test.ts'),
      },
      {
        verb: 'mcp',
        summary: 'serve threads and nodes to agents over MCP',
        load: () => import('./commands/mcp.ts'),
      },
      {
        verb: 'fsck',
        summary: 'find every damage to threads, workflows and nodes',
        load: () => import('./commands/fsck.ts'),
      },
      { verb: 'reindex', summary: 'work the local lookup out again', load: () => import('./commands/reindex.ts') },
      {
        verb: 'doctor',
        summary: 'say what about this repository or machine will hurt',
        load: () => import('./commands/doctor.ts'),
      },
      { verb: 'gc', summary: 'clean up what threads have left behind', load: () => import('./commands/gc.ts') },
      {
        verb: 'completion',
        summary: 'print a script that completes commands in your shell',
        load: () => import('./commands/completion.ts'),
      },
    ],
  },
];

/** All commands, in the order of the overview. */
export const commandTable: readonly CommandEntry[] = commandGroups.flatMap((group) => group.commands);

/** `thread show`, `run`: what is typed after `uwf`. */
export function nameOf(entry: Pick<CommandEntry, 'noun' | 'verb'>): string {
  return entry.noun === undefined ? entry.verb : `${entry.noun} ${entry.verb}`;
}
