import { expect, test } from 'vitest';
import { atTerminal } from '../../helpers/at-terminal.ts';
import {
  createLoopRepository,
  loopReplies,
  scriptedConfig,
  type CliRepository,
  type Remote,
} from '../../helpers/cli.ts';

function createScene(): { server: Remote; home: CliRepository; ids: () => string[] } {
  const home = createLoopRepository();
  const server = home.share();
  return { server, home, ids: () => server.refs().map((name) => name.slice(-26)) };
}

const QUESTION = '[y/N]';

test('without a terminal a push sends what is known there, lists what is new, and says how to send it', async () => {
  const { server, home, ids } = createScene();
  const known = await home.start('loop', 'Count the words.');
  expect((await home.uwf(['push', 'origin', known])).stdout).toContain(`${known}  loop  Count the words.\n`);
  await home.uwf(['thread', 'step', known]);
  const fresh = await home.start('loop', `An experiment that failed${' again'.repeat(20)}\nand more`);
  for (const verb of ['push', 'sync']) {
    const { code, stdout, stderr } = await home.uwf([verb, 'origin']);
    expect(code).toBe(5);
    const lines = stdout.split('\n').filter((line) => /01[A-Z0-9]{24}/.test(line));
    const unsent = ` ? [not sent]         ${fresh}  loop  An experiment that failed again again again again again aga…`;
    expect(lines.map((line) => line.replace(/^ {3}\w{7}\.\.\w{7}/, '')).at(-1)).toBe(unsent);
    expect(lines.length).toBe(verb === 'push' ? 2 : 1);
    expect(stderr).toContain(
      `hint: this thread is new there: 'uwf push origin ${fresh}' sends one, and --all sends all`,
    );
    expect(ids()).toEqual([known]);
  }
  expect(server.git('rev-parse', `refs/threads/${known}`)).toBe(home.git('rev-parse', `refs/threads/${known}`));
  const { code, stdout } = await home.uwf(['push', '--json']);
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 5,
    threads: [],
    unsent: [{ thread: fresh, workflow: 'loop', prompt: expect.stringContaining('An experiment'), below: [] }],
  });
  // A command that an agent runs asks no one, whatever terminal it has.
  const agent = await atTerminal(home.dir, ['push'], { question: QUESTION, keys: 'y', env: { UWF_THREAD: known } });
  expect(agent.shown).not.toContain(QUESTION);
  expect(ids()).toEqual([known]);
  expect((await home.uwf(['sync', '--all'])).code).toBe(0);
  expect(ids()).toEqual([known, fresh]);
});

test('at a terminal a person is asked once about all that is new, and the answer counts', async () => {
  const { home, ids } = createScene();
  const [one, two] = [await home.start('loop', 'First'), await home.start('loop', 'Second')];
  const no = await atTerminal(home.dir, ['push'], { question: QUESTION, keys: 'n' });
  expect(no).toMatchObject({
    code: 0,
    shown: expect.stringContaining(`  ${one}  loop  First\n  ${two}  loop  Second\n`),
  });
  expect(no.shown).toContain('Send these 2 threads, too? [y/N] n\n');
  expect(no.shown).toContain('nothing was pushed to');
  expect(ids()).toEqual([]);
  const yes = await atTerminal(home.dir, ['sync'], { question: QUESTION, keys: 'y' });
  expect(yes).toMatchObject({
    code: 0,
    shown: expect.stringContaining(` * [new thread]       ${two}  loop  Second\n`),
  });
  expect(ids()).toEqual([one, two]);
  const again = await atTerminal(home.dir, ['push'], { question: QUESTION, keys: 'y' });
  expect(again.shown).not.toContain(QUESTION);
});

test("'push: all' in a repository's configuration counts once a person has agreed to it", async () => {
  const { home, ids } = createScene();
  const config = scriptedConfig(loopReplies, { push: 'all' });
  const thread = await home.start('loop', 'x');
  home.write('.uwf/config.yaml', config);
  const env = { UWF_TRUST: undefined, XDG_CONFIG_HOME: `${home.dir}/.git/own` };
  const refused = await home.uwf(['push'], { env });
  expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining("'uwf trust'") });
  expect(ids()).toEqual([]);
  expect((await home.uwf(['trust', 'push'], { env })).code).toBe(0);
  expect(await home.uwf(['push'], { env })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${thread}  loop  x\n`),
  });
  // What the repository narrows counts without a word, and what the user's own file widens does, too.
  const other = await home.start('loop', 'y');
  home.write('.git/own/uwf/config.yaml', 'push: all\n');
  home.write('.uwf/config.yaml', scriptedConfig(loopReplies, { push: 'ask' }));
  expect((await home.uwf(['push'], { env })).code).toBe(5);
  home.write('.uwf/config.yaml', scriptedConfig(loopReplies));
  expect((await home.uwf(['push'], { env })).code).toBe(0);
  expect(ids()).toEqual([thread, other]);
});
