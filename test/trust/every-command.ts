import { commandGroups } from '../../src/cli/commands/command-table.ts';

/** What commands are given that need a thread, a step or a node. */
export type Handles = { ended: string; waiting: string; step: string; text: string; elsewhere: string };

/** A command line that reaches as far into the repository as its command can. */
export type CommandLine = { name: string; args: string[]; input?: string };

const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize' };
const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
const listThreads = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'uwf_thread_list', arguments: {} } };

/** One line at least for each command that there is, and forms of those that reach a remote or a work tree in other ways. */
export function everyCommand({ ended, waiting, step, text, elsewhere }: Handles): CommandLine[] {
  const lines: Record<string, string[][]> = {
    init: [[], ['--remote', 'origin']],
    run: [['hostile', '-p', 'go']],
    log: [[ended], [waiting, '--graph']],
    'workflow list': [[]],
    'workflow show': [['hostile']],
    'workflow validate': [['hostile'], ['.uwf/workflows/hostile.yaml', '--strict']],
    'workflow simulate': [['hostile', '--against', ended]],
    'workflow graph': [['hostile'], ['hostile', '-f', 'mermaid'], ['hostile', '-f', 'dot']],
    'workflow add': [['.uwf/workflows/hostile.yaml']],
    'workflow rm': [['hostile']],
    'thread list': [[], ['--all', '--ended'], ['--all', '--json'], ['--remote=origin']],
    'thread show': [[ended], [waiting, '--json']],
    'thread read': [[ended], [waiting]],
    'thread context': [[waiting]],
    'thread start': [['hostile', '-p', 'go']],
    'thread step': [[waiting]],
    'thread run': [[waiting]],
    'thread resume': [[waiting, '-p', 'yes']],
    'thread fork': [
      [ended, '--at', '1'],
      [ended, '--at', '1', '--worktree', `${elsewhere}/fork`],
    ],
    'thread poke': [[ended, '-p', 'again']],
    'thread ask': [[ended, '-p', 'why?']],
    'thread compact': [[ended]],
    'thread diff': [[ended, waiting]],
    'thread code': [[ended], [ended, '--stat']],
    'thread merge': [[ended], [ended, '--squash'], [ended, '--rebase']],
    'thread open': [[ended, '--print']],
    'thread join': [[waiting, '--timeout', '1s']],
    'thread stop': [[waiting]],
    'thread cancel': [[waiting, '-m', 'enough']],
    'thread verify': [[ended], [waiting]],
    'thread export': [[ended], [ended, '--with-nodes']],
    'thread import': [['-']],
    'thread rm': [[waiting]],
    'step list': [[ended]],
    'step show': [[step], ['1', '--thread', ended]],
    'step read': [[step], ['1', '--thread', ended, '--prompt']],
    'step turns': [[step]],
    'step restore': [['1', '--thread', ended, '--worktree', `${elsewhere}/restored`]],
    'cas list': [[], ['--thread', ended]],
    'cas put': [
      ['a note', '--thread', waiting],
      ['--pin', 'HEAD'],
    ],
    'cas get': [[text]],
    'cas cat': [[text]],
    'cas has': [[text]],
    'cas refs': [[text]],
    'cas walk': [[ended]],
    'cas rm': [[text]],
    'schema list': [[]],
    'schema show': [['thread-step']],
    'schema put': [['-']],
    push: [[], ['-n'], ['origin', ended]],
    fetch: [[], ['origin', ended]],
    sync: [[]],
    'agent list': [[]],
    'agent show': [['worker'], ['packaged']],
    'agent test': [['worker'], ['packaged']],
    web: [
      ['--export', `${elsewhere}/pages`],
      ['--export', `${elsewhere}/page`, ended],
    ],
    worker: [['--drain'], ['--drain', '--registered']],
    mcp: [[]],
    archive: [
      ['--before', '1s', '-n'],
      ['--before', '1s'],
    ],
    fsck: [[]],
    reindex: [[]],
    doctor: [[], ['--json']],
    gc: [[]],
    completion: [['bash']],
  };
  const inputs: Record<string, string> = {
    mcp: [{ ...initialize, params: client }, listThreads].map((message) => `${JSON.stringify(message)}\n`).join(''),
    'schema put': '{"type":"object"}',
    'thread import': '{}\n',
  };
  const known = commandGroups
    .flatMap(({ commands }) => commands)
    .map(({ noun, verb }) => (noun === undefined ? verb : `${noun} ${verb}`));
  return known.flatMap((name) => {
    const forms = lines[name] ?? moreCommands(name, { ended, waiting });
    return forms.map((args) => ({ name, args: [...name.split(' '), ...args], input: inputs[name] ?? '' }));
  });
}

/** Of a command that came later its help at least says that it is there: so that none is forgotten, this fails. */
function moreCommands(name: string, { ended }: Pick<Handles, 'ended' | 'waiting'>): string[][] {
  if (name === 'trust') return [['--list']];
  if (name === 'scan') return [[], [ended]];
  if (name === 'thread redact') return [[ended, '-n'], [ended]];
  throw new Error(`the matrix of hostile clones has no command line for 'uwf ${name}'`);
}
