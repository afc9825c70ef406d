import { describe, expect, test } from 'vitest';
import {
  createCliRepository,
  createLoopRepository,
  loopReplies,
  scriptedConfig,
  type CliRepository,
} from '../../helpers/cli.ts';
import { startModelServer } from '../../helpers/model-server.ts';

const erase = '\r\u001B[K';

test('on a terminal a line lives below the steps, and is gone in the end', async () => {
  const { uwf } = createLoopRepository({ ...loopReplies, writer: [{ delayMs: 600, reply: loopReplies.writer[1] }] });
  const { all } = await uwf(['run', 'loop', '-p', 'x', '--limit', '1'], { isTTY: true });
  const live = all.split(erase).find((part) => part.includes('writer (script)'));
  expect(live?.replaceAll(/\u001B\[[\d;]*m/g, '')).toMatch(/^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] writer \(script\) \d\.\d s/u);
  expect(all.lastIndexOf(erase)).toBeLessThan(all.indexOf('is \u001B'));
  expect(all.slice(all.lastIndexOf(erase) + erase.length)).not.toContain('writer (script)');
});

test('nothing is drawn in a pipe or on a dumb terminal', async () => {
  const { uwf } = createLoopRepository();
  expect((await uwf(['run', 'loop', '-p', 'x'])).all).not.toContain('\u001B');
  const dumb = await uwf(['run', 'loop', '-p', 'x'], { isTTY: true, env: { TERM: 'dumb' } });
  expect(dumb.all).not.toContain('\u001B');
});

test('NO_COLOR leaves the text as it is', async () => {
  const { uwf } = createLoopRepository();
  await uwf(['run', 'loop', '-p', 'x']);
  const coloured = await uwf(['thread', 'list', '--all'], { isTTY: true });
  const plain = await uwf(['thread', 'list', '--all'], { isTTY: true, env: { NO_COLOR: '1' } });
  expect(coloured.stdout).toContain('\u001B[');
  expect(plain.stdout).toBe(coloured.stdout.replaceAll(/\u001B\[[\d;]*m/g, ''));
});

test('a reply that is not accepted is told with its reason', async () => {
  const { uwf } = createLoopRepository({ ...loopReplies, writer: ['no front matter', ...loopReplies.writer] });
  const { code, stderr } = await uwf(['run', 'loop', '-p', 'x']);
  expect(code).toBe(4);
  expect(stderr).toContain('not accepted from writer, asking again: ');
  expect(stderr).toContain('not accepted from writer, not asked again: ');
});

test('what an agent says cannot steer the terminal', async () => {
  const evil = '---\n$status: written\nwords: 1\n---\n\u001B]0;owned\u0007\u001B[2Jtext';
  const { uwf } = createLoopRepository({ ...loopReplies, writer: [evil] });
  const { stderr } = await uwf(['run', 'loop', '-p', 'x', '--limit', '1']);
  expect(stderr).not.toContain('\u001B]');
  const { stdout } = await uwf(['thread', 'read', '0'], { isTTY: true, env: { NO_COLOR: '1' } });
  expect(stdout).not.toContain('\u001B');
  expect(stdout).toContain('text');
});

describe('a child thread', () => {
  const workflow = (name: string): string => `name: ${name}
roles:
  does: { description: d, schema: { properties: { $status: { const: done } }, required: [$status] } }
graph:
  $START: { new: { role: does } }
  does: { done: { role: $END${name === 'top' ? ', prompt: top is over' : ''} } }
`;
  const create = (reply: unknown): CliRepository =>
    createCliRepository({
      '.uwf/workflows/top.yaml': workflow('top'),
      '.uwf/workflows/below.yaml': workflow('below'),
      '.uwf/config.yaml': scriptedConfig(
        { does: [reply] },
        {
          agents: {
            script: { package: 'builtin:scripted', config: { replies: { does: [reply] } } },
            calls: { package: 'builtin:workflow', config: { workflow: 'below' } },
          },
          roles: { 'top.does': 'calls' },
        },
      ),
    });
  const done = '---\n$status: done\n---\n';

  test.each(['top', 'below'])(
    'that goes on and its caller are each told once by their names: %s is resumed',
    async (which) => {
      const { uwf, json } = create({ suspend: 'Which?', reply: `${done}below is over` });
      await uwf(['run', 'top', '-p', 'x']);
      const [top, below] = (
        (await json(['thread', 'list', '--role', 'does'])) as { thread: string; workflow: string }[]
      )
        .toSorted((a, b) => (a.workflow < b.workflow ? 1 : -1))
        .map(({ thread }) => thread);
      const { stdout, stderr } = await uwf(['thread', 'resume', (which === 'top' ? top : below) ?? '', '-p', 'so']);
      expect(stdout).toBe(`${which} is over\n`);
      const overs = stderr.split('\n').filter((line) => /thread .*ended/.test(line));
      expect(overs).toEqual(
        which === 'top'
          ? ['    child thread ended: below is over', `thread ${top} has ended`]
          : [`thread ${top} ended: top is over`, `thread ${below} has ended`],
      );
    },
  );

  test('that ends without a word is told without one', async () => {
    const { uwf } = create(done);
    const { stderr } = await uwf(['run', 'top', '-p', 'x']);
    expect(stderr).toMatch(/^    child thread ended$/m);
  });
});

test('while a model is left alone, a terminal counts down, and a pipe is told once for how long', async () => {
  const run = async (isTTY: boolean): Promise<string> => {
    const server = await startModelServer([
      { status: 429, headers: { 'retry-after': '1' } },
      { text: loopReplies.writer[0] },
    ]);
    const { uwf, write } = createLoopRepository();
    write(
      '.uwf/config.yaml',
      `agents: { model: { package: "builtin:llm", config: { baseUrl: "${server.url}", model: m } } }\ndefaultAgent: model\n`,
    );
    const { all, code } = await uwf(['run', 'loop', '-p', 'x', '--limit', '1'], { isTTY });
    // The limit of one step suspends.
    expect(code).toBe(4);
    return all.replaceAll(/\u001B\[[\d;]*m/g, '');
  };
  const piped = await run(false);
  expect(piped.match(/^ *waiting 1\.0 s before writer goes on: .* answered 429/gm)).toHaveLength(1);
  expect(piped.match(/waiting/g)).toHaveLength(1);
  const drawn = (await run(true)).split(erase);
  expect(drawn).toContainEqual(expect.stringMatching(/^\S writer \(model\) \d\.\d s {2}waiting 0\.\d s more: .*429/));
  expect(drawn.join('')).not.toContain('before writer goes on');
});
