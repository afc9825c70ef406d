import { asStorageError, isShortOfFiles } from '../git/object-errors.ts';
import { COMPLETE } from './completion/complete-word.ts';
import { contextIn, createContext, type CliContext } from './context.ts';
import { EXIT, exitCodeOf } from './exit-code.ts';
import { findCommand } from './find-command.ts';
import { createOutput } from './output/output.ts';
import { harmless } from './output/width.ts';
import { parseArguments } from './arguments/parse-arguments.ts';
import { readWordsFast } from './arguments/read-words-fast.ts';

export { isAllWritten } from './process-streams.ts';

/**
 * Runs one command line.
 *
 * Never throws and never exits: everything that goes wrong is said on stderr and comes back as the exit code.
 * @param argv the words after `uwf`
 * @param given what to use in place of the process's own streams, environment, folder, clock and signals
 * @returns the exit code; see `exit-code.ts`
 */
export async function main(argv: readonly string[], given?: Partial<CliContext>): Promise<number> {
  const cli = createContext(given);
  try {
    return await runCommand(argv, cli);
  } catch (raised) {
    const error = isShortOfFiles(raised) ? asStorageError(raised, cli.cwd) : raised;
    try {
      const { reportError } = await import('./report-error.ts');
      await reportError(cli, error, { isJson: asksForJson(argv) });
    } catch {
      // Not even that file can be opened.
      cli.stderr.write(`uwf: ${harmless(error instanceof Error ? error.message : String(error))}\n`);
    }
    return exitCodeOf(error);
  }
}

/**
 * The name of the command that a command line runs; `help` where it asks for help, empty where it runs none. For who keeps
 * what was compiled for it.
 */
export function commandNameOf(argv: readonly string[]): string {
  try {
    const target = findCommand(argv);
    if (target.kind === 'version') return '';
    // `uwf help push` is found as `uwf push --help`.
    const isHelp = target.kind === 'help' || target.argv.includes('--help') || target.argv.includes('-h');
    return isHelp ? 'help' : target.name;
  } catch {
    return '';
  }
}

async function runCommand(argv: readonly string[], cli: CliContext): Promise<number> {
  if (argv[0] === COMPLETE) {
    const { complete } = await import('./completion/complete.ts');
    const found = await complete(cli, argv.slice(1)).catch(() => []);
    const { candidateLines } = await import('./completion/candidate-lines.ts');
    cli.stdout.write(candidateLines(found));
    return EXIT.done;
  }
  const target = findCommand(argv);
  if (target.kind === 'version') {
    const { readVersion } = await import('./help/version.ts');
    cli.stdout.write(`uwf ${readVersion()}\n`);
    return EXIT.done;
  }
  if (target.kind === 'help') {
    const { overview, nounHelp } = await import('./help/overview.ts');
    cli.stdout.write(target.noun === undefined ? overview(cli) : nounHelp(cli, target.noun));
    return EXIT.done;
  }
  const { command } = await target.entry.load();
  const read = target.entry.isFast ? readWordsFast : (await import('./arguments/read-words.ts')).readWords;
  const { args, options, globals } = parseArguments(target.name, command, target.argv, read);
  if (globals.isHelp) {
    const { commandHelp } = await import('./help/command-help.ts');
    cli.stdout.write(commandHelp(cli, target.name, command));
    return EXIT.done;
  }
  if (globals.query !== undefined) await (await import('./output/query.ts')).assertQuery(globals.query);
  const here = contextIn(cli, { folder: globals.folder, mayPage: cli.mayPage && globals.mayPage });
  const out = createOutput(here, globals);
  // The parser read both by the command's own declaration.
  const values = options as Parameters<typeof command.run>[0]['options'];
  const words = args as Parameters<typeof command.run>[0]['args'];
  return (await command.run({ args: words, options: values, cli: here, out })) ?? EXIT.done;
}

/** Whether errors are to be told as JSON; looked for here since the command line itself may be what is wrong. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  const words = end === -1 ? argv : argv.slice(0, end);
  return words.some((word) => word === '--json' || word.startsWith('--json='));
}
