import { expect, test } from 'vitest';
import { createCliRepository, loopWorkflow, scriptedConfig, type CliRepository } from '../../helpers/cli.ts';

/** What only a later run of this machine knows to be secret. */
const KNOWN = 'correct-horse-battery-staple-7731';
const knowing = { env: { DEPLOY_TOKEN: KNOWN } };

const reply = (text: string): string => `---\n$status: written\nwords: 3\n---\n${text}`;

function createScene(text: string, more: Record<string, unknown> = {}): CliRepository {
  return createCliRepository({
    '.uwf/workflows/loop.yaml': loopWorkflow,
    '.uwf/config.yaml': scriptedConfig({ writer: [reply(text)] }, more),
  });
}

test('a scan names the places of secrets, never a secret, and exits with 1', async () => {
  const home = createScene(`One.\nTwo ${KNOWN}.`);
  const [clean, other] = [await home.start('loop', 'clean'), await home.start('loop', `take ${KNOWN}`)];
  await home.uwf(['thread', 'step', clean]);
  const { code, stdout, all } = await home.uwf(['scan'], knowing);
  expect(code).toBe(1);
  expect(all).not.toContain(KNOWN);
  const lines = stdout.split('\n');
  expect(lines).toContainEqual(
    expect.stringMatching(new RegExp(`^${clean} {2}step 1 {2}output\\.md \\(\\w{13}\\) line 2`)),
  );
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${clean} {2}step 1 {2}message line `)));
  expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^${other} {2}commit \\w{7} {2}prompt\\.md`)));
  const json = await home.uwf(['scan', clean, '--json'], knowing);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({
    commits: 2,
    unread: [],
    secrets: expect.arrayContaining([
      expect.objectContaining({ thread: clean, step: 1, file: 'output.md', at: 'line 2', rule: 'known' }),
    ]),
  });
  expect(json.all).not.toContain(KNOWN);
  // Nobody knows of it without the environment.
  expect(await home.uwf(['scan'])).toMatchObject({ code: 0, stdout: expect.stringContaining('no secret found') });
});

test('a scan finds what was put, and registered, and recorded, each by its place', async () => {
  const home = createScene('Done.', { snapshot: { mode: 'on' } });
  home.git('add', '.');
  home.git('commit', '-qm', 'code');
  home.write('src/.env', `A=1\nB=${KNOWN}\n`);
  const thread = await home.start('loop', 'x');
  await home.uwf(['thread', 'step', thread]);
  await home.uwf(['cas', 'put', '-t', thread, '-'], { input: `a note with ${KNOWN}` });
  home.write('.uwf/workflows/loop.yaml', loopWorkflow.replace('You write.', `You write with ${KNOWN}.`));
  expect(await home.uwf(['workflow', 'add', 'loop'])).toMatchObject({ code: 0 });
  const { code, stdout, all } = await home.uwf(['scan', '--json'], knowing);
  expect(code).toBe(1);
  expect(all).not.toContain(KNOWN);
  const { secrets } = JSON.parse(stdout) as { secrets: { ref: string; file: string; at: string }[] };
  const found = secrets.map(({ ref, file, at }) => `${ref.split('/').slice(0, -1).join('/')} ${file} ${at}`);
  expect(found).toEqual(
    expect.arrayContaining([
      'refs/threads workspace/src/.env line 2',
      expect.stringMatching(/^refs\/uwf\/scratch artifacts\/\w+\.md line 1$/),
      'refs/workflows workflow/roles/writer.json /systemPrompt',
    ]),
  );
});

test('a thread that cannot be read is named, and the others are looked through', async () => {
  const home = createScene('Done.');
  const [first, second] = [await home.start('loop', 'x'), await home.start('loop', `take ${KNOWN}`)];
  home.git('update-ref', `refs/threads/${first}`, home.git('hash-object', '-w', '.uwf/config.yaml'));
  const { code, stdout } = await home.uwf(['scan'], knowing);
  expect(code).toBe(1);
  expect(stdout).toMatch(new RegExp(`${first} {2}could not be looked through`));
  expect(stdout).toMatch(new RegExp(`${second} .*prompt\\.md`));
});

test('a secret that was put without a thread is not offered a redaction, and what is offered drops it', async () => {
  const home = createScene('One.');
  const { hash } = (await home.json(['cas', 'put', `take ${KNOWN}`])) as { hash: string };
  const { code, stderr } = await home.uwf(['scan'], knowing);
  expect(code).toBe(1);
  expect(stderr).toContain("'uwf cas rm <hash>' drops it");
  expect(stderr).not.toContain('redact');
  expect(await home.uwf(['cas', 'rm', hash])).toMatchObject({ code: 0 });
  expect(await home.uwf(['scan'], knowing)).toMatchObject({ code: 0 });
  await home.start('loop', `take ${KNOWN}`);
  expect((await home.uwf(['scan'], knowing)).stderr).toBe(
    "hint: 'uwf thread redact <thread>' takes secrets out of a thread; change those that left this machine\n",
  );
});
