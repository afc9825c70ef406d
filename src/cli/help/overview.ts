import type { CommandEntry } from '../command-entry.ts';
import { commandGroups, nameOf } from '../command-table.ts';
import type { CliContext } from '../context.ts';
import { createPalette, type Palette } from '../output/palette.ts';

/** `uwf --help`: what uwf is, and all commands in groups. */
export function overview(cli: Pick<CliContext, 'stdout' | 'env'>): string {
  const paint = createPalette(cli.stdout, cli.env);
  const width = Math.max(...commandGroups.flatMap((group) => group.commands.map((entry) => nameOf(entry).length)));
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
export function nounHelp(cli: Pick<CliContext, 'stdout' | 'env'>, noun: string): string {
  const paint = createPalette(cli.stdout, cli.env);
  const entries = commandGroups.flatMap((group) => group.commands).filter((entry) => entry.noun === noun);
  const width = Math.max(...entries.map((entry) => nameOf(entry).length));
  const hint = `'uwf ${noun}' alone is 'uwf ${noun} list'; 'uwf ${noun} <command> --help' tells more.`;
  return `usage: uwf ${noun} <command> [<arguments>]\n\n${formatCommands(entries, width, paint)}\n\n${hint}\n`;
}

function formatCommands(entries: readonly CommandEntry[], width: number, paint: Palette): string {
  return entries.map((entry) => `  ${paint.name(nameOf(entry).padEnd(width))}  ${entry.summary}`).join('\n');
}
