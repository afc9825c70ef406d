import type { Command } from '../command-line/command.ts';

/** A command before it is loaded: enough for the overview and for finding it. */
export type CommandEntry = {
  /** What is typed after `uwf`: `thread show`, `run`. */
  name: string;
  /** Absent for a command of one word. */
  noun?: string;
  verb: string;
  /** What it does, in a few words, as an imperative without a full stop. */
  summary: string;
  /** Loads the module of this command, and of no other. */
  load(): Promise<Command>;
};

/** A module exports the command `cas get` as `casGetCommand`. */
type Row = readonly [summary: string, load: () => Promise<Readonly<Record<`${string}Command`, Command>>>];

/** The summaries and modules of all commands, in the groups of the overview. */
const groups: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'start here': {
    init: ['prepare this repository for workflows', () => import('./init.ts')],
    run: ['start a thread and run it to its end', () => import('./thread/run.ts')],
    log: ['show the log of a thread', () => import('./log.ts')],
  },
  'workflows: who does what, and who is next': {
    'workflow list': ['list the workflows of this repository', () => import('./workflow/show.ts')],
    'workflow show': ['show the roles and rules of a workflow', () => import('./workflow/show.ts')],
    'workflow validate': ['find every mistake in a workflow', () => import('./workflow/show.ts')],
    'workflow simulate': [
      'list the threads that a change would route differently',
      () => import('./workflow/simulate.ts'),
    ],
    'workflow graph': ['draw a workflow', () => import('./workflow/show.ts')],
    'workflow add': ['register a workflow under its name', () => import('./workflow/register.ts')],
    'workflow rm': ['remove a registered workflow', () => import('./workflow/register.ts')],
  },
  'threads: runs of workflows': {
    'thread list': ['list threads, those that wait for you first', () => import('./thread/list.ts')],
    'thread show': ['show where a thread stands', () => import('./thread/show.ts')],
    'thread read': ['read what was said in a thread', () => import('./thread/read.ts')],
    'thread context': ['print the prompt of the next agent', () => import('./thread/run.ts')],
    'thread start': ['start a thread without running it', () => import('./thread/run.ts')],
    'thread step': ['do the next step of a thread', () => import('./thread/run.ts')],
    'thread run': ['run a thread to its end', () => import('./thread/run.ts')],
    'thread resume': ['answer a suspended thread and run it on', () => import('./thread/run.ts')],
    'thread fork': ['start a new thread from a step of another', () => import('./thread/fork.ts')],
    'thread poke': ['repeat the last step with a remark', () => import('./thread/run.ts')],
    'thread ask': ['ask the agent of a step a question', () => import('./thread/ask.ts')],
    'thread compact': ['summarise a thread for its next agents', () => import('./thread/ask.ts')],
    'thread diff': ['compare two threads from their last common step', () => import('./thread/read.ts')],
    'thread code': ['show what a thread changed in your code', () => import('./thread/code.ts')],
    'thread merge': ['bring what a thread changed into your branch', () => import('./thread/code.ts')],
    'thread open': ["open a thread's work tree in an editor or a shell", () => import('./thread/code.ts')],
    'thread join': ['wait for the process that runs a thread', () => import('./thread/stop.ts')],
    'thread stop': ['stop the process that runs a thread', () => import('./thread/stop.ts')],
    'thread cancel': ['cancel a thread and its children', () => import('./thread/stop.ts')],
    'thread verify': ['verify every object and decision of a thread', () => import('./maintenance.ts')],
    'thread export': ['write a thread as JSON lines', () => import('./thread/export.ts')],
    'thread import': ['store a thread that was exported', () => import('./thread/export.ts')],
    'thread redact': ['take secrets out of a thread that is stored', () => import('./thread/redact.ts')],
    'thread rm': ['remove threads from this repository', () => import('./thread/rm.ts')],
  },
  'steps: what each role did': {
    'step list': ['list the steps of a thread', () => import('./step.ts')],
    'step show': ['show all about a step, or a turn that was suspended', () => import('./step.ts')],
    'step read': ['print the reply or the prompt of a step', () => import('./step.ts')],
    'step turns': ['show how an agent came to its reply, turn by turn', () => import('./step.ts')],
    'step restore': ['restore the files that a step left', () => import('./step.ts')],
  },
  'nodes: what threads are made of': {
    'cas list': ['list what was put', () => import('./cas/get.ts')],
    'cas put': ['store a text or a value', () => import('./cas/put.ts')],
    'cas get': ['print what a node holds', () => import('./cas/get.ts')],
    'cas cat': ['print the stored bytes of a node', () => import('./cas/get.ts')],
    'cas has': ['tell whether a node is there', () => import('./cas/get.ts')],
    'cas refs': ['list the nodes that a node links to', () => import('./cas/get.ts')],
    'cas walk': ['list every node that a node or a thread reaches', () => import('./cas/get.ts')],
    'cas rm': ['remove a node that was put', () => import('./cas/put.ts')],
    'schema list': ['list the types of nodes', () => import('./schema.ts')],
    'schema show': ['print a schema', () => import('./schema.ts')],
    'schema put': ['register a schema', () => import('./schema.ts')],
  },
  'others: sharing through any git remote': {
    push: ['send threads and workflows to a remote', () => import('./sync.ts')],
    fetch: ['bring threads and workflows from a remote', () => import('./sync.ts')],
    sync: ['fetch from a remote, then push to it', () => import('./sync.ts')],
    archive: ['move ended threads out of the list of refs', () => import('./archive.ts')],
  },
  'this machine': {
    'agent list': ['list the agents that are configured here', () => import('./agent.ts')],
    'agent show': ['show an agent and what it can be told', () => import('./agent.ts')],
    'agent test': ['try an agent out with one turn', () => import('./agent.ts')],
    trust: ['agree to what this repository would run', () => import('./trust.ts')],
    web: ['serve a page on which you watch, read and answer threads', () => import('./web.ts')],
    worker: ['take turns of the threads of a remote', () => import('./worker.ts')],
    mcp: ['serve threads and nodes to agents over MCP', () => import('./mcp.ts')],
    fsck: ['check threads, workflows and nodes for damage', () => import('./maintenance.ts')],
    scan: ['find secrets in what is stored', () => import('./maintenance.ts')],
    reindex: ['rebuild the local lookup', () => import('./maintenance.ts')],
    doctor: ['check this repository and machine for problems', () => import('./maintenance.ts')],
    gc: ['clean up what threads have left behind', () => import('./maintenance.ts')],
    completion: ['print a script that completes commands in your shell', () => import('./completion.ts')],
  },
};

export const commandGroups: readonly { title: string; commands: readonly CommandEntry[] }[] = Object.entries(
  groups,
).map(([title, rows]) => ({ title, commands: Object.entries(rows).map(([name, row]) => entryOf(name, row)) }));

/** All commands, in the order of the overview. */
export const commandTable: readonly CommandEntry[] = commandGroups.flatMap(({ commands }) => commands);

function entryOf(name: string, [summary, load]: Row): CommandEntry {
  const [first = '', second] = name.split(' ');
  const words = second === undefined ? { verb: first } : { noun: first, verb: second };
  const exported = `${name.replace(/ ./, (letter) => letter.trim().toUpperCase())}Command` as const;
  return {
    name,
    ...words,
    summary,
    async load() {
      const command = (await load())[exported];
      if (command === undefined) throw new Error(`no module exports ${exported}`);
      return command;
    },
  };
}
