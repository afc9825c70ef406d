import { toOverview } from '../command-line/read-words.ts';
import { commandGroups, commandTable } from '../commands/command-table.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/**
 * Writes the help of all commands, in groups (`uwf --help`), or of those of a noun (`uwf thread --help`).
 */
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
