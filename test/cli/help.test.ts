import { describe, expect, test } from 'vitest';
import { commandGroups, commandTable } from '../../src/cli/commands/command-table.ts';
import { toCommander } from '../../src/cli/command-line/read-words.ts';
import type { Command } from '../../src/cli/command-line/command.ts';
import { writeOverview } from '../../src/cli/main.ts';
import { widthOf } from '../../src/cli/output/text.ts';
import { runCommand } from '../helpers/cli.ts';
import { assertParses } from '../helpers/hints.ts';

/** What is written to a plain stdout. */
function written(write: (cli: Parameters<typeof writeOverview>[0]) => void): string {
  let text = '';
  write({ stdout: { write: (chunk) => (text += String(chunk)) !== '' }, env: {} });
  return text;
}

function helpOf(entry: { name: string; summary: string }, command: Command): string {
  return written((cli) => {
    toCommander(cli, entry, command).outputHelp();
  });
}

const commands = await Promise.all(
  commandTable.map(async (entry) => ({ name: entry.name, entry, command: await entry.load() })),
);

function get(name: string): (typeof commands)[number] {
  const found = commands.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no command ${name}`);
  return found;
}

describe.each(commands)('uwf $name', ({ name, entry, command }) => {
  test('has help that fits a terminal and shows an example', () => {
    const help = helpOf(entry, command);
    expect(help.split('\n')[0]).toBe(`uwf ${name}: ${entry.summary}`);
    expect(command.examples.length).toBeGreaterThan(0);
    const wide = help.split('\n').filter((line) => widthOf(line) > 80);
    expect(wide).toEqual([]);
  });

  test('understands its own examples', async () => {
    for (const { command: line } of command.examples) {
      for (const words of uwfCommandsIn(line)) await assertParses(words);
    }
  });

  test('has no two options of one letter, and no letter of a common one', () => {
    const letters = Object.values(command.options).flatMap(({ short }) => short ?? []);
    expect(['C', 'h', ...letters]).toEqual([...new Set(['C', 'h', ...letters])]);
  });
});

test('--help, help and -h say the same', async () => {
  const { stdout } = await runCommand(['thread', 'step', '--help']);
  expect((await runCommand(['help', 'thread', 'step'])).stdout).toBe(stdout);
  expect((await runCommand(['thread', 'step', '-h'])).stdout).toBe(stdout);
  expect((await runCommand(['--help'])).stdout).toBe((await runCommand([])).stdout);
  expect((await runCommand(['step', '--help'])).stdout).toContain('step read');
});

test('help is coloured on a terminal and says the same there', async () => {
  const { stdout } = await runCommand(['run', '--help'], { isTTY: true });
  expect(stdout).toContain('\u001B[');
  expect(stdout.replaceAll(/\u001B\[[\d;]*m/g, '')).toBe((await runCommand(['run', '--help'])).stdout);
});

test('--version says which one this is', async () => {
  expect(await runCommand(['--version'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^uwf \d+\.\d+\.\d+\n$/),
  });
});

// `npx vitest run test/cli/help.test.ts --update` writes it anew.
test('docs/cli.md is what the help says', async () => {
  await expect(reference()).toMatchFileSnapshot('../../docs/cli.md');
});

function reference(): string {
  const sections = commandGroups.map(({ title, commands: entries }) => {
    const parts = entries.map(({ name }) => {
      const { entry, command } = get(name);
      return `### uwf ${name}\n\n\`\`\`text\n${helpOf(entry, command)}\`\`\`\n`;
    });
    return `## ${title}\n\n${parts.join('\n')}`;
  });
  return `# The commands of uwf

<!-- Written from the help by test/cli/help.test.ts; change the command, not this file. -->

\`\`\`text
${written(writeOverview)}\`\`\`

Exit codes are the same everywhere: 0 done, 1 failed, 2 a mistake in the command line, 3 a run ended as failed, 4 a run is
suspended until a person answers, 5 a conflict (another process runs the thread, or has advanced it), 6 an agent is missing or
not trusted, 7 refused by the remote, 70 a bug in uwf, 124 timed out, 130 interrupted or cancelled. Results are printed on
stdout, everything else on stderr; with \`--json\` errors are objects there too: \`{"error": {"code", "kind", "message", "hint", …}}\`.

${sections.join('\n')}`;
}

/** The calls of uwf in a shell line, as words; pipes and substitutions are looked into. */
function uwfCommandsIn(line: string): string[][] {
  return [...line.matchAll(/\buwf ((?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^'"|)&>])*)/g)].map(([, words = '']) =>
    [...words.trim().matchAll(/'([^']*)'|"([^"]*)"|\$\([^)]*\)|[^\s'"]+/g)].map(
      (match) => match[1] ?? match[2] ?? match[0],
    ),
  );
}
