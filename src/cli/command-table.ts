import type { CommandEntry } from './command-entry.ts';
import { threadCommands } from './thread-commands.ts';

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
      {
        verb: 'log',
        summary: 'tell the story of a thread',
        isFast: true,
        load: () => import('./commands/log.ts'),
      },
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
        summary: 'tell which threads a change would route otherwise',
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
  { title: 'threads: runs of workflows', commands: threadCommands },
  {
    title: 'steps: what each role did',
    commands: [
      {
        noun: 'step',
        verb: 'list',
        summary: 'list the steps of a thread',
        load: () => import('./commands/step/list.ts'),
      },
      {
        noun: 'step',
        verb: 'show',
        summary: 'show all about a step, or a turn that was suspended',
        load: () => import('./commands/step/show.ts'),
      },
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
      {
        noun: 'cas',
        verb: 'get',
        summary: 'print what a node holds',
        isFast: true,
        load: () => import('./commands/cas/get.ts'),
      },
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
    title: 'others: sharing through any git remote',
    commands: [
      {
        verb: 'push',
        summary: 'send threads and workflows to a remote',
        isFast: true,
        load: () => import('./commands/push.ts'),
      },
      {
        verb: 'fetch',
        summary: 'bring threads and workflows from a remote',
        isFast: true,
        load: () => import('./commands/fetch.ts'),
      },
      {
        verb: 'sync',
        summary: 'fetch from a remote, then push to it',
        isFast: true,
        load: () => import('./commands/sync.ts'),
      },
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
      { verb: 'trust', summary: 'agree to what this repository would run', load: () => import('./commands/trust.ts') },
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
      { verb: 'scan', summary: 'find secrets in what is stored', load: () => import('./commands/scan.ts') },
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
