import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cliRepositoryOf, type CommandOptions } from '../../helpers/cli.ts';
import { startModelServer, type ModelRequest, type ScriptedAnswer } from '../../helpers/model-server.ts';
import { createTemporaryFolder, runGit, temporaryRepositoryAt } from '../../helpers/temporary-repository.ts';
import { pageRepositoryOf, type ListedThread, type PageRepository } from './browser-fixture.ts';

/** A small shop whose prices are wrong, and what a user would have there: a workflow, agents, threads that ran and wait. */
export type Showcase = {
  repository: PageRepository;
  /** Waits for a person to approve it. */
  waiting: string;
  /** Was approved, and has ended. */
  ended: string;
  /** A fork of the one that waits, in which another fix was made. */
  fork: string;
};

const fix = `name: fix
description: Finds the cause of a bug, mends it, tests it, and asks before it goes out.
roles:
  coder:
    description: Changes the code, and as little of it as it can.
    systemPrompt: You mend one bug. Read the code first, change as little as you can, and say what the cause was.
    extractPrompt: Name the file that you changed.
    schema:
      properties: { $status: { const: changed }, file: { type: string } }
      required: [$status, file]
  tester:
    description: Runs the tests.
    schema:
      properties: { $status: { enum: [passed, failed] } }
      required: [$status]
  approver:
    description: Decides what goes out.
    schema:
      properties: { $status: { enum: [approved, rejected] } }
      required: [$status]
graph:
  $START:
    new: { role: coder, prompt: '{{ start.prompt }}' }
  coder:
    changed: { role: tester, prompt: 'Test {{ file }} again.' }
  tester:
    failed: { role: coder, prompt: 'The tests say: {{ _body }}' }
    passed: { role: approver, prompt: 'All tests pass. May it go out?' }
  approver:
    approved: { role: $END, prompt: 'It may go out.' }
    rejected: { role: coder, prompt: 'The approver says: {{ _body }}' }
`;

const explain = `name: explain
description: Reads the code and explains a part of it.
roles:
  reader:
    description: Explains code to people.
    schema: { properties: { $status: { const: explained } }, required: [$status] }
graph:
  $START:
    new: { role: reader, prompt: '{{ start.prompt }}' }
  reader:
    explained: { role: $END, prompt: 'Explained.' }
`;

const price = (rounding: string): string => `/** The price in cents after a discount in percent. */
export function discounted(cents, percent) {
  return Math.${rounding}((cents * (100 - percent)) / 100);
}
`;

const tests = `import { discounted } from './price.js';

const wrong = [[999, 10, 899], [995, 10, 896], [1000, 0, 1000]].filter(([cents, percent, expected]) => {
  const actual = discounted(cents, percent);
  if (actual === expected) return false;
  console.log(\`\${percent} % off \${cents} is \${expected}, not \${actual}\`);
  return true;
});
if (wrong.length === 0) console.log('3 tests passed');
process.exitCode = wrong.length;
`;

/** One turn of the coder: it reads, writes, and says what it did; or it only asks. */
type Turn = { code?: string; said: string };

const up: Turn = { code: price('ceil'), said: 'The price was rounded down, so I round it **up** now.' };
const rounded: Turn = {
  code: price('round'),
  said: `The cause was in \`discounted\`: it cut half a cent off. It rounds to the nearest cent now, and **nothing else** is changed.

| price | discount | before | now |
| ---: | ---: | ---: | ---: |
| 9.95 | 10 % | 8.95 | **8.96** |
| 9.99 | 10 % | 8.99 | 8.99 |`,
};
const exact: Turn = {
  code: price('round').replace('return', '// Half a cent is rounded up.\n  return'),
  said: 'I round to the nearest cent, and a comment says what becomes of half a cent.',
};
const asks: Turn = {
  said: '---\n$status: $SUSPEND\nreason: Is the sum of an empty basket 0, or is there none?\n---\n',
};

/** What the coder does, turn by turn: `up` fails the tests. */
const turns: readonly Turn[] = [up, rounded, up, rounded, exact, asks];

/** The model's answer to a request; each turn takes three of them, one after the other. */
function modelOf(script: readonly Turn[]): (request: ModelRequest) => ScriptedAnswer {
  let turn = -1;
  return ({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').length;
    if (results === 0) turn += 1;
    const { code, said } = script[turn] ?? asks;
    const used = { usage: { prompt_tokens: 2480 + results * 570, completion_tokens: 96 + results * 41 } };
    if (code === undefined) return { text: said, ...used };
    if (results === 2) return { text: `---\n$status: changed\nfile: price.js\n---\n${said}`, ...used };
    const [name, more] = results === 0 ? ['read_file', {}] : ['write_file', { content: code }];
    return {
      ...(results === 0 && {
        thought: 'A price is a cent too low, so half a cent is cut off somewhere. I read the code first.',
      }),
      calls: [{ name, arguments: { path: 'price.js', ...more } }],
      ...used,
    };
  };
}

/** Says a few words a second. */
const slowReader = `const words = process.argv[1].split(' ');
const timer = setInterval(() => (words.length > 0 ? process.stdout.write(words.shift() + ' ') : clearInterval(timer)), 250);`;
const explanation =
  `The shop keeps every price as a whole number of cents. A discount is a whole number of percent, and it is taken off in
one place only: discounted() in price.js. What is left after a discount need not be a whole number of cents, so that function has to
round, and every caller relies on it: the basket adds up rounded prices and never rounds a sum again. `.repeat(9);

/** @param nowMs when the last of it happened, in ms since 1970; what ran before took as long as with a real model */
export async function createShowcase(nowMs: number): Promise<Showcase> {
  const model = await startModelServer(modelOf(turns));
  const dir = join(createTemporaryFolder(), 'shop');
  mkdirSync(dir);
  runGit(dir, ['init', '--quiet', '--initial-branch=main']);
  const config = {
    agents: {
      model: {
        package: 'builtin:llm',
        price: { inputPerMTok: 3, outputPerMTok: 15 },
        config: { baseUrl: model.url, model: 'm-large' },
      },
      tests: {
        package: 'builtin:command',
        config: { argv: ['node', 'test.js'], statuses: { 0: 'passed', default: 'failed' } },
      },
      reader: {
        package: 'builtin:command',
        config: { argv: ['node', '-e', slowReader, explanation], statuses: { 0: 'explained' } },
      },
      me: { package: 'builtin:human' },
    },
    defaultAgent: 'model',
    roles: { tester: 'tests', approver: 'me', 'explain.reader': 'reader' },
    snapshot: { mode: 'on' },
  };
  const cli = cliRepositoryOf(temporaryRepositoryAt(dir), {
    '.uwf/workflows/fix.yaml': fix,
    '.uwf/workflows/explain.yaml': explain,
    '.uwf/config.yaml': JSON.stringify(config),
    'package.json': '{ "type": "module" }\n',
    'price.js': price('floor'),
    'test.js': tests,
  });
  runGit(dir, ['add', '.']);
  runGit(dir, ['commit', '--quiet', '--message', 'A shop']);
  const repository = pageRepositoryOf(cli);
  const newest = async (): Promise<string> => {
    const [thread] = (await cli.json(['thread', 'list', '--all', '-n', '1'])) as ListedThread[];
    return thread?.thread ?? '';
  };
  /** From the code as it was. */
  const fixAt = async (minutesAgo: number, prompt: string): Promise<string> => {
    cli.git('checkout', '--quiet', 'price.js');
    await cli.uwf(['run', 'fix', '-p', prompt], at(nowMs, minutesAgo));
    return newest();
  };
  const ended = await fixAt(26 * 60, 'A discount of 0 % must leave a price as it is.');
  await cli.uwf(['thread', 'resume', ended, '-p', 'approved'], at(nowMs, 25 * 60));
  const waiting = await fixAt(12, 'A price with a discount is a cent too low: 10 % off 9.95 is 8.95.');
  await cli.uwf(['thread', 'fork', waiting, '--at', '2'], at(nowMs, 9));
  const fork = await newest();
  await cli.uwf(['thread', 'run', fork], at(nowMs, 8));
  await fixAt(6, 'The basket shows a negative sum when it is empty.');
  return { repository, waiting, ended, fork };
}

/** A clock that begins so long ago and runs eight times as fast: a script answers sooner than a model. */
function at(nowMs: number, minutesAgo: number): CommandOptions {
  const realMs = Date.now();
  return { now: () => Math.min(nowMs, nowMs - minutesAgo * 60_000 + (Date.now() - realMs) * 8) };
}
