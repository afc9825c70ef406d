import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createCliRepository, createLoopRepository, loopWorkflow } from '../../../helpers/cli.ts';
import { expectCleanFsck } from '../../../helpers/temporary-repository.ts';

const id = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const oid = /^[0-9a-f]{40}$/;
const hash = /^[0-9A-F][0-9A-HJKMNP-TV-Z]{12}$/;

test('a run prints its summary on stdout and its steps on stderr', async () => {
  const { dir, uwf } = createLoopRepository();
  const { code, stdout, stderr } = await uwf(['run', 'loop', '-p', 'Write something']);
  expect(code).toBe(0);
  expect(stdout).toBe('The text was accepted after 4 steps.\n');
  expect(stderr.split('\n')).toEqual([
    expect.stringMatching(/^thread [0-9A-Z]{26} {2}loop$/),
    expect.stringMatching(/^ {2}1 {2}writer written: A first draft \(\d/),
    expect.stringMatching(/^ {2}2 {2}checker rejected: Too short \(/),
    expect.stringMatching(/^ {2}3 {2}writer written: A second draft \(/),
    expect.stringMatching(/^ {2}4 {2}checker accepted: Good \(/),
    expect.stringMatching(/^thread [0-9A-Z]{26} has ended$/),
    expect.stringMatching(/^hint: 'uwf log [0-9A-Z]{26}' shows its log$/),
    '',
  ]);
  expectCleanFsck(dir);
});

test('under --json it prints a line for each event, the last of which says how it ended', async () => {
  const { lines, git } = createLoopRepository();
  const told = await lines(['run', 'loop', '-p', 'Write something']);
  // A text may come in pieces: what could be the beginning of a secret is told with what follows.
  const events = told.filter(({ event }, at) => event !== 'agent.text' || told[at - 1]?.['event'] !== event);
  expect(events.map((event) => event['event'])).toEqual([
    'thread.started',
    ...Array.from({ length: 4 }, () => ['step.started', 'agent.text', 'step.finished']).flat(),
    'thread.ended',
  ]);
  const last = events.at(-1) ?? {};
  expect(Object.keys(last).slice(0, 5)).toEqual(['event', 'thread', 'status', 'returnCode', 'head']);
  expect(last).toEqual({
    event: 'thread.ended',
    thread: expect.stringMatching(id),
    status: 'ended',
    returnCode: 0,
    head: expect.stringMatching(oid),
    text: 'The text was accepted after 4 steps.',
  });
  expect(git('rev-parse', `refs/history/${new Date().toISOString().slice(0, 10)}/${String(last['thread'])}`)).toBe(
    last['head'],
  );
  expect(events[3]).toMatchObject({ step: expect.stringMatching(hash), role: 'writer', number: 1, outcome: 'written' });
});

test('--json=<fields> and --query choose from every line', async () => {
  const { uwf } = createLoopRepository();
  const chosen = await uwf(['run', 'loop', '-p', 'x', '--json=event,role']);
  expect(chosen.stdout.split('\n').slice(0, 3)).toEqual([
    '{"event":"thread.started"}',
    '{"event":"step.started","role":"writer"}',
    '{"event":"agent.text","role":"writer"}',
  ]);
  const queried = await uwf(['run', 'loop', '-p', 'x', '--query', "event = 'step.finished' ? outcome"]);
  expect(queried.stdout).toBe('"written"\n"rejected"\n"written"\n"accepted"\n');
});

test('a prompt comes from the command line, from stdin or from a file, and from one of them only', async () => {
  const { uwf, says, json, write } = createLoopRepository();
  write('task.md', 'from a file\n');
  for (const [argv, input, prompt] of [
    [['-p', 'as it is'], '', 'as it is'],
    [['-p', '-'], 'from stdin', 'from stdin'],
    [['--file', '-'], 'from stdin too', 'from stdin too'],
    [['-F', 'task.md'], '', 'from a file'],
    [['-p', '@home - a text like any other'], '', '@home - a text like any other'],
  ] as const) {
    const { thread } = (await json(['thread', 'start', 'loop', ...argv], { input })) as { thread: string };
    expect(await json(['thread', 'show', thread])).toMatchObject({ prompt });
  }
  await says('run loop', 2, 'a thread needs a prompt');
  expect(await uwf(['run', 'loop', '-p', 'x', '-F', 'task.md'])).toMatchObject({ code: 2 });
  await says('run loop -F nowhere', 2, 'nowhere');
  expect(await uwf(['run', 'loop', '-p', '-'], { input: Buffer.from([0xff]) })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('stdin is not text in UTF-8'),
  });
});

test('a run that is suspended says how to answer, and exits 4', async () => {
  const { uwf } = createLoopRepository({ writer: [{ suspend: 'Which language?', reply: 'In {{ answer }}' }] });
  const { code, stdout, stderr } = await uwf(['run', 'loop', '-p', 'x']);
  expect(code).toBe(4);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/thread [0-9A-Z]{26} is suspended: Which language\?\nhint: answer with 'uwf thread resume/);
});

test('a run whose workflow cannot go on exits 3, with a return code of its own where the rule has one', async () => {
  const failing = loopWorkflow.replace('when: null, prompt: "The', 'when: null, returnCode: 7, prompt: "The');
  const { lines, uwf, write } = createLoopRepository();
  write('.uwf/workflows/loop.yaml', failing);
  expect((await lines(['run', 'loop', '-p', 'x'])).at(-1)).toMatchObject({
    event: 'thread.failed',
    status: 'failed',
    returnCode: 7,
  });
  expect((await uwf(['run', 'loop', '-p', 'x'])).code).toBe(3);
});

test('a missing agent is said before anything is stored, and exits 6', async () => {
  const { says, git } = createCliRepository({ '.uwf/workflows/loop.yaml': loopWorkflow });
  await says('run loop -p x', 6, 'writer');
  expect(git('for-each-ref')).toBe('');
});

test('a workflow with mistakes is refused with all of them, each with its place', async () => {
  const { says, write } = createLoopRepository();
  write('.uwf/workflows/loop.yaml', loopWorkflow.replace('to: checker', 'to: chekcer'));
  await says('run loop -p x', 1, /loop\.yaml:\d+:\d+: error: .*chekcer/, "did you mean 'checker'?");
});

test('an unknown workflow is said with what was looked at and the nearest name', async () => {
  const { says } = createLoopRepository();
  await says('run lop -p x', 2, "there is no workflow 'lop'", "did you mean 'loop'?");
});

test('a limit of the command line suspends the thread', async () => {
  const { lines } = createLoopRepository();
  const last = (await lines(['run', 'loop', '-p', 'x', '--limit', '2'])).at(-1);
  expect(last).toMatchObject({ event: 'thread.suspended', returnCode: null, text: expect.stringContaining('2 steps') });
});

test('a limit is raised by words alone, also in the background', async () => {
  const { lines, uwf } = createLoopRepository();
  const { thread } = (await lines(['run', 'loop', '-p', 'x', '--limit', '1'])).at(-1) as { thread: string };
  for (const argv of [[], ['-p', 'Go on.'], ['--background'], ['--tokens', '5']]) {
    const { code, stderr } = await uwf(['thread', 'resume', thread, ...argv]);
    expect({ argv, code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--steps 1') });
  }
  const { code, stderr } = await uwf(['thread', 'resume', thread, '--steps', '2']);
  expect({ code, stderr }).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('the limit of 3 steps is reached'),
  });
});

test('where git knows nobody the fallback is named, once', async () => {
  const { uwf, git } = createLoopRepository();
  const nobody = {
    GIT_COMMITTER_NAME: undefined,
    GIT_COMMITTER_EMAIL: undefined,
    GIT_AUTHOR_NAME: undefined,
    GIT_AUTHOR_EMAIL: undefined,
  };
  const { code, stderr } = await uwf(['run', 'loop', '-p', 'x'], { env: nobody });
  expect(code).toBe(0);
  expect(stderr.match(/no git identity is set; commits are by uwf <uwf@localhost>/g)).toHaveLength(1);
  expect(git('log', '--all', '-1', '--format=%cn <%ce>')).toBe('uwf <uwf@localhost>');
});

test('an aborted run ends its agent, keeps what was stored and exits 130', async () => {
  const { uwf, json, write } = createLoopRepository();
  write(
    '.uwf/config.yaml',
    JSON.stringify({
      agents: {
        quick: {
          package: 'builtin:scripted',
          config: { replies: { writer: ['---\n$status: written\nwords: 1\n---\nx'] } },
        },
        slow: { package: 'builtin:command', config: { argv: [process.execPath, '-e', 'setTimeout(() => {}, 60000)'] } },
      },
      roles: { writer: 'quick', checker: 'slow' },
    }),
  );
  const controller = new AbortController();
  const running = uwf(['run', 'loop', '-p', 'x'], { signal: controller.signal });
  await expect.poll(async () => json(['thread', 'list'])).toMatchObject([{ status: 'running', steps: 1 }]);
  controller.abort();
  const { code, stderr } = await running;
  expect(code).toBe(130);
  expect(stderr).toContain("hint: 'uwf thread run");
  expect(await json(['thread', 'list'])).toMatchObject([{ status: 'idle', steps: 1, nextRole: 'checker' }]);
});

test('a background run prints its id at once; join waits for it', async () => {
  const { json, uwf } = createLoopRepository();
  const started = (await json(['run', 'loop', '-p', 'x', '--background'])) as { thread: string; log: string };
  expect(started).toMatchObject({
    thread: expect.stringMatching(id),
    workflow: 'loop',
    status: 'running',
    head: expect.stringMatching(oid),
  });
  const joined = await uwf(['thread', 'join', started.thread, '--timeout', '50s']);
  expect(readFileSync(started.log, 'utf8')).toContain('writer written: A first draft');
  expect(joined).toMatchObject({ code: 0, stdout: 'The text was accepted after 4 steps.\n' });
});

test('lines for the configuration are not followed by other words on their last line', async () => {
  const repository = createLoopRepository();
  const thread = await repository.start('loop', 'x');
  repository.write('.uwf/config.yaml', '');
  await repository.says(`thread run ${thread}`, 6, /^roles:\n {2}loop\.writer: me\n\nthen 'uwf thread run/m);
});

test('a time of 0 is refused, and leaves no thread that is corrupt', async () => {
  const { uwf, json } = createLoopRepository();
  for (const option of ['--timeout', '--idle-timeout']) {
    const refused = await uwf(['run', 'loop', '-p', 'x', option, '0']);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${option} needs a span of time from 1ms on`),
    });
  }
  expect(await json(['thread', 'list', '--all'])).toEqual([]);
});
