import { messageOf } from '../errors.ts';
import { asEnvironmentError } from '../git/format/errors.ts';
import { findCommand, readWords, toCommander, toOverview } from './command-line/read-words.ts';
import { commandGroups, commandTable } from './commands/command-table.ts';
import { EXIT, exitCodeOf } from './errors/exit-code.ts';
import { createOutput } from './output/output.ts';
import { harmless } from './output/text.ts';
import { type CliEnvironment, createCliEnvironment, environmentIn } from './process/cli-environment.ts';
import { readVersion } from './version.ts';

export { isAllWritten } from './process/cli-environment.ts';
export { hasOtherFlags } from './process/save-memory.ts';

/**
 * The word by which the scripts (`fixtures/completion/`) ask for what fits. The words typed so far follow, the last one
 * possibly empty. A script prints lines of `word<tab>description`; without any the shell completes its own files.
 */
const COMPLETE = '__complete';

/**
 * Runs one command line, the words after `uwf`, and returns the exit code. Never throws and never exits: errors are reported
 * on stderr. What is `given` is used in place of the process's own streams, environment, folder, clock and signals.
 */
export async function main(argv: readonly string[], given?: Partial<CliEnvironment>): Promise<number> {
  const cli = createCliEnvironment(given);
  try {
    return await runCommand(argv, cli);
  } catch (raised) {
    return fail(argv, cli, raised);
  }
}

async function fail(argv: readonly string[], cli: CliEnvironment, raised: unknown): Promise<number> {
  const error = asEnvironmentError(raised, cli.cwd);
  try {
    const { reportError } = await import('./errors/report-error.ts');
    await reportError(cli, error, { isJson: asksForJson(argv) });
  } catch {
    // Not even that file can be opened.
    cli.stderr.write(`uwf: ${harmless(messageOf(error))}\n`);
  }
  return exitCodeOf(error);
}

/** The command that a command line runs, by which its code cache is named; `help` where it asks for help, empty for none. */
export function commandNameOf(argv: readonly string[]): string {
  try {
    const target = findCommand(argv);
    if (target.kind === 'version') return '';
    // `uwf help push` is found as `uwf push --help`.
    const isHelp = target.kind === 'help' || target.argv.includes('--help') || target.argv.includes('-h');
    return isHelp ? 'help' : target.entry.name;
  } catch {
    return '';
  }
}

async function runCommand(argv: readonly string[], cli: CliEnvironment): Promise<number> {
  if (argv[0] === COMPLETE) {
    const { candidateLines, complete } = await import('./completion/complete.ts');
    cli.stdout.write(candidateLines(await complete(cli, argv.slice(1)).catch(() => [])));
    return EXIT.done;
  }
  const target = findCommand(argv);
  if (target.kind === 'version') {
    cli.stdout.write(`uwf ${readVersion()}\n`);
    return EXIT.done;
  }
  if (target.kind === 'help') {
    writeOverview(cli, target.noun);
    return EXIT.done;
  }
  const { entry, front } = target;
  const command = await entry.load();
  const words = readWords(entry.name, toCommander(cli, entry, command, target.argv), target.argv);
  if (words === undefined) return EXIT.done;
  const { args, options, query, C: folder = front.C } = words;
  if (query !== undefined) await (await import('./output/query.ts')).assertQuery(query);
  const here = environmentIn(cli, { folder, mayPage: cli.mayPage && front.pager && words.pager });
  const out = createOutput(here, words);
  try {
    return (await command.run({ args, options, cli: here, out })) ?? EXIT.done;
  } catch (raised) {
    // Its hints name the folder of `-C`.
    return fail(argv, here, raised);
  }
}

/** Whether errors are to be told as JSON; looked for here since the command line itself may be what is wrong. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const words = end === -1 ? argv : argv.slice(0, end);
  return words.some((word) => word === '--json' || word.startsWith('--json='));
}

/** Writes the help of all commands, in groups (`uwf --help`), or of those of a noun (`uwf thread --help`). */
export function writeOverview(cli: Pick<CliEnvironment, 'stdout' | 'env'>, noun?: string): void {
  if (noun !== undefined) {
    const commands = commandTable.filter((entry) => entry.noun === noun);
    toOverview(cli, { usage: `${noun} <command> [<arguments>]`, groups: [{ title: 'Commands:', commands }] })
      .addHelpText('after', `\n'uwf ${noun}' alone is 'uwf ${noun} list'; 'uwf ${noun} <command> --help' tells more.`)
      .outputHelp();
    return;
  }
  toOverview(cli, { usage: '[-C <folder>] [--no-pager] <command> [<arguments>]', groups: commandGroups })
    .addHelpText('before', 'uwf runs workflows of agents and programs inside any git repository\n')
    .addHelpText(
      'after',
      `
'uwf <command> --help' tells more about a command; a noun alone lists ('uwf thread').
Ids and hashes may be shortened to their first characters.
'uwf --version' prints the version.`,
    )
    .outputHelp();
}
