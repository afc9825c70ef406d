import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { commandTable } from '../../../src/cli/commands/command-table.ts';
import { createCliRepository, type CliRepository, type CommandResult } from '../../helpers/cli.ts';

/** A colour of the palette that a text brings along, and one mark of each kind. */
const evil = '\u001B[33mevil\u202E\u2066\u200F\u061C\u2028\u009B2J\u0007\u{E0041}\uFEFF';
/** What must not come out: all but tab, line feed and the palette's own colours. */
// oxlint-disable-next-line no-control-regex, no-misleading-character-class -- they are what is looked for
const bad =
  /[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E007F}]|\u001B(?!\[(?:[012]|3[2-6]|1;31)m)|\u001B\[33mevil/u;

const workflow = (text: string): string =>
  JSON.stringify({
    name: 'odd',
    description: `describes ${text}`,
    roles: {
      writer: {
        description: `writes ${text}`,
        systemPrompt: `You write ${text}.`,
        schema: {
          type: 'object',
          properties: {
            $status: { enum: [`done${text}`, 'ask'] },
            [`key${text}`]: { type: 'string', description: text },
          },
          required: ['$status'],
        },
      },
    },
    moderator: [
      { from: '__start__', to: 'writer', when: null, prompt: `Go ${text}.` },
      { from: 'writer', to: 'writer', when: `$count($steps) < 2 and "${text}" != ""`, prompt: `Again ${text}.` },
      { from: 'writer', to: '__end__', when: null, prompt: `Ended ${text}.` },
    ],
  });

const config = (text: string): string => {
  const reply = `---\n${JSON.stringify({ $status: `done${text}`, [`key${text}`]: text })}\n---\nSaid ${text}\n\n- [ ] ${text}`;
  const script = { package: 'builtin:scripted', config: { replies: { writer: [reply] }, repeat: true } };
  const failing = { package: 'builtin:command', config: { argv: ['/bin/sh', '-c', `echo '${text}' >&2; exit 3`] } };
  return JSON.stringify({ agents: { [`me${text}`]: script, [`failing${text}`]: failing }, defaultAgent: `me${text}` });
};

let repository: CliRepository;
let id: string;
let hash: string;
let commands: string[][];

beforeAll(async () => {
  repository = createCliRepository({
    '.uwf/workflows/odd.json': workflow(evil),
    '.uwf/workflows/broken.json': workflow(evil).replace('"to":"writer"', `"to":"nobody${evil}"`),
    [`.uwf/workflows/x${evil.replaceAll('\u001B', '')}.yaml`]: `name: ${evil}`,
    '.uwf/config.yaml': config(evil),
  });
  repository.git('config', 'user.name', `Name ${evil.replaceAll('\u0007', '')}`);
  const start = (more: string[] = []): Promise<unknown> =>
    repository.json(['thread', 'start', 'odd', '-p', `Do ${evil}`, ...more]);
  ({ thread: id } = (await start()) as { thread: string });
  const { thread: other } = (await start()) as { thread: string };
  await repository.uwf(['thread', 'run', id]);
  await repository.uwf(['thread', 'step', other, '--agent', `failing${evil}`]);
  await repository.uwf(['workflow', 'add', 'odd']);
  const steps = (await repository.json(['step', 'list', id])) as { step: string }[];
  hash = steps[0]?.step ?? '';
  const nodes = (await repository.lines(['cas', 'walk', hash])).map((node) => ({ hash: String(node['hash']) }));
  symlinkSync('/dev/zero', join(repository.dir, '.uwf/workflows/zero.yaml'));
  writeFileSync(join(repository.dir, evil.replaceAll('\u001B', '')), evil);
  commands = [
    ...['list', 'list --all', `show ${id}`, `show ${other}`, `read ${id}`, `read ${other}`, `read ${id} --debug`].map(
      (words) => `thread ${words}`,
    ),
    ...[
      `context ${id}`,
      `diff ${id} ${other}`,
      `verify ${id}`,
      `export ${id}`,
      `export ${id} --with-nodes`,
      `fork ${id}`,
    ].map((words) => `thread ${words}`),
    ...[`list ${id}`, `show ${hash}`, `turns ${hash}`, `show ${hash} --json`].map((words) => `step ${words}`),
    ...[
      'list',
      'show odd',
      'graph odd',
      'graph odd -f mermaid',
      'graph odd -f dot',
      'validate odd',
      'validate .uwf/workflows/broken.json',
    ].map((words) => `workflow ${words}`),
    ...[`simulate odd`, `validate x${evil}.yaml`, `show ${evil}`].map((words) => `workflow ${words}`),
    ...nodes.flatMap(({ hash: node }) => [`cas get ${node} --json`, `cas refs ${node}`, `cas walk ${node}`]),
    `cas list --thread ${id}`,
    `log ${id}`,
    'log --graph',
    'agent list',
    `agent show me${evil}`,
    `agent show nobody${evil}`,
    `agent test failing${evil}`,
    `thread read ${id} --follow`,
    `step turns ${hash} --live`,
    'schema list',
    'trust --list',
    'trust --all',
    'schema show content',
    `step read 1 --thread ${id} --json`,
    'doctor',
    'fsck',
    'scan',
    `thread show ${evil}`,
    `thread show --${evil}`,
    evil,
    `push ${evil}`,
    `fetch ${evil}`,
    `run odd -p x --agent failing${evil}`,
    `run odd -p x`,
    '__complete workflow show ',
    '__complete agent show ',
    '__complete thread show ',
    'help',
  ].map((line) => line.split(' '));
}, 120_000);

const shownBadly = ({ stdout, stderr }: CommandResult): string[] =>
  // The line that lives on a terminal is taken away before anything else is written.
  [stdout, stderr.replaceAll('\r\u001B[K', '')]
    .filter((text) => bad.test(text))
    .map((text) => JSON.stringify(text.slice(Math.max(text.search(bad) - 60, 0)).slice(0, 160)));

test.each([
  ['in a pipe', {}],
  ['in a pipe, with colours', { env: { FORCE_COLOR: '1' } }],
  ['on a terminal', { isTTY: true }],
])(
  'no command prints what a terminal obeys or hides: %s',
  async (_name, options) => {
    const found: string[] = [];
    for (const command of commands) {
      const result = await repository.uwf(command, options);
      found.push(...shownBadly(result).map((text) => `${command.join(' ')}: ${text}`));
      // A mistake in this test would end up as one of uwf.
      expect(result.code, `${command.join(' ')}: ${result.stderr}`).not.toBe(70);
    }
    expect(found).toEqual([]);
  },
  300_000,
);

test('on a terminal no command prints texts as they are that a pipe gets', async () => {
  const nodes = (await repository.lines(['cas', 'walk', hash])).map((node) => ({ hash: String(node['hash']) }));
  const reads = nodes.flatMap(({ hash }) => [
    ['cas', 'get', hash],
    ['cas', 'cat', hash],
  ]);
  for (const command of [
    ...reads,
    ['step', 'read', '1', '--thread', id],
    ['step', 'read', '1', '--prompt', '--thread', id],
  ]) {
    expect(shownBadly(await repository.uwf(command, { isTTY: true }))).toEqual([]);
  }
}, 120_000);

test('commands that were added since are looked at here', () => {
  const looked = new Set(commands.map(([noun, verb]) => `${noun} ${verb}`));
  // What only acts prints ids and counts, or is looked at by way of the same parts.
  const reading = [
    'list',
    'show',
    'read',
    'graph',
    'validate',
    'simulate',
    'diff',
    'context',
    'export',
    'turns',
    'walk',
    'refs',
  ];
  const missing = commandTable.filter(
    ({ noun, verb }) => noun !== undefined && reading.includes(verb) && !looked.has(`${noun} ${verb}`),
  );
  expect(missing.map(({ noun, verb }) => `${noun} ${verb}`)).toEqual([]);
});

test('whatever is said in a thread', async () => {
  const unit = fc.oneof(
    fc.constantFrom('\u001B', '\u009B', '\u202E', '\u2069', '\u{E0065}', '\u0007', '[2J', ']0;', '\r', '\u2029'),
    fc.string({ unit: 'grapheme', maxLength: 3 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.string({ unit, minLength: 1, maxLength: 30 }), async (prompt) => {
      const { thread } = (await repository.json(['thread', 'start', 'odd', `--prompt=${prompt} .`])) as {
        thread: string;
      };
      for (const command of [
        ['thread', 'list'],
        ['thread', 'show', thread],
        ['thread', 'read', thread],
        ['log', thread],
      ]) {
        expect(shownBadly(await repository.uwf(command, { isTTY: true }))).toEqual([]);
      }
      await repository.uwf(['thread', 'rm', thread]);
    }),
    { numRuns: 15 },
  );
}, 120_000);
