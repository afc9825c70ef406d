import { commandGroups, commandTable, type CommandEntry } from '../commands/command-table.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { createPalette, type Palette } from '../output/palette.ts';

/** `uwf --help`: what uwf is, and all commands in groups. */
export function overview(cli: Pick<CliEnvironment, 'stdout' | 'env'>): string {
  const paint = createPalette(cli.stdout, cli.env);
  const width = Math.max(...commandTable.map(({ name }) => name.length));
  const groups = commandGroups.map(
    ({ title, commands }) => `${paint.title(title)}\n${formatCommands(commands, width, paint)}`,
  );
  return `${[
    'uwf runs workflows of agents and programs inside any git repository',
    `usage: uwf [-C <folder>] [--no-pager] <command> [<arguments>]`,
    ...groups,
    [
      `'uwf <command> --help' tells more about a command; a noun alone lists ('uwf thread').`,
      'Ids and hashes may be shortened to their first characters.',
      `'uwf --version' prints the version.`,
    ].join('\n'),
  ].join('\n\n')}\n`;
}

/** `uwf thread --help`: the commands of a noun. */
export function nounHelp(cli: Pick<CliEnvironment, 'stdout' | 'env'>, noun: string): string {
  const paint = createPalette(cli.stdout, cli.env);
  const entries = commandTable.filter((entry) => entry.noun === noun);
  const width = Math.max(...entries.map(({ name }) => name.length));
  const hint = `'uwf ${noun}' alone is 'uwf ${noun} list'; 'uwf ${noun} <command> --help' tells more.`;
  return `usage: uwf ${noun} <command> [<arguments>]\n\n${formatCommands(entries, width, paint)}\n\n${hint}\n`;
}

function formatCommands(entries: readonly CommandEntry[], width: number, paint: Palette): string {
  return entries.map(({ name, summary }) => `  ${paint.name(name.padEnd(width))}  ${summary}`).join('\n');
}
