import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  createCliRepository,
  createLoopRepository,
  loopReplies,
  loopWorkflow,
  scriptedConfig,
} from '../../helpers/cli.ts';
import { widthOf } from '../../../src/cli/output/text.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const oid = expect.stringMatching(/^[0-9a-f]{40}$/) as string;
const hash = expect.stringMatching(/^[0-9A-F][0-9A-HJKMNP-TV-Z]{12}$/) as string;
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

describe('uwf thread start', () => {
  test('prints the id of an idle thread, and no agent has to be configured', async () => {
    const { says, json, dir } = createCliRepository({ '.uwf/workflows/loop.yaml': loopWorkflow });
    await says('thread start loop -p x', 0, /^[0-9A-Z]{26}\n$/);
    expect(await json(['thread', 'start', 'loop', '-p', 'x'])).toEqual({
      thread: expect.stringMatching(/^[0-9A-Z]{26}$/),
      head: oid,
      workflow: 'loop',
      status: 'idle',
      nextRole: 'writer',
    });
    expectCleanFsck(dir);
  });
});

describe('uwf thread step', () => {
  test('does one step and names it', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    expect(await repository.lines(['thread', 'step', thread])).toEqual([
      {
        thread,
        status: 'idle',
        role: 'writer',
        step: hash,
        head: oid,
        nextRole: 'checker',
        reason: null,
        returnCode: null,
      },
    ]);
  });

  test('-c prints a line for each step, and stops where the thread does', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    const lines = await repository.lines(['thread', 'step', thread, '-c', '9']);
    expect(lines.map(({ role, status }) => [role, status])).toEqual([
      ['writer', 'idle'],
      ['checker', 'idle'],
      ['writer', 'idle'],
      ['checker', 'ended'],
    ]);
    expect(await repository.lines(['thread', 'step', thread])).toMatchObject([
      { role: null, step: null, status: 'ended' },
    ]);
  });

  test('two at once run the agent once; the other says who works and exits 5', async () => {
    const repository = createLoopRepository({
      ...loopReplies,
      writer: [{ delayMs: 1500, reply: loopReplies.writer[0] }],
    });
    const thread = await repository.start('loop', 'Write something');
    const both = await Promise.all([1, 2].map(() => repository.uwf(['thread', 'step', thread, '--json'])));
    expect(both.map(({ code }) => code).toSorted((a, b) => a - b)).toEqual([0, 5]);
    const loser = JSON.parse(both.find(({ code }) => code === 5)?.stderr ?? '') as { error: Record<string, unknown> };
    expect(loser.error).toMatchObject({ code: 'lease-held', kind: 'conflict', thread, holder: { pid: process.pid } });
    expect(repository.git('rev-list', '--count', '--first-parent', `refs/threads/${thread}`)).toBe('2');
  });

  test('--role lets a person choose; an unknown role is refused', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    expect(await repository.lines(['thread', 'step', thread, '--role', 'checker'])).toMatchObject([
      { role: 'checker' },
    ]);
    expect(await repository.uwf(['thread', 'step', thread, '--role', 'nobody'])).toMatchObject({ code: 2 });
  });
});

describe('uwf thread run and resume', () => {
  test('run goes on from where the thread stands', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    await repository.uwf(['thread', 'step', thread]);
    const events = await repository.lines(['thread', 'run', thread.slice(0, 20).toLowerCase()]);
    expect(events.filter(({ event }) => event === 'step.finished')).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ event: 'thread.ended', thread, status: 'ended', returnCode: 0, head: oid });
  });

  test('resume hands the answer to the role that waits', async () => {
    const replies = {
      ...loopReplies,
      writer: [{ suspend: 'Which language?', reply: '---\n$status: written\nwords: 1\n---\nIn {{ answer }}' }],
      checker: ['---\n$status: accepted\n---\nGood'],
    };
    const repository = createLoopRepository(replies);
    const thread = await repository.start('loop', 'Write something');
    expect((await repository.lines(['thread', 'run', thread])).at(-1)).toMatchObject({
      event: 'thread.suspended',
      status: 'suspended',
      returnCode: null,
      text: 'Which language?',
    });
    const { code, stderr } = await repository.uwf(['thread', 'resume', thread, '-p', 'French']);
    expect(code).toBe(0);
    expect(stderr).toContain('writer written: In French');
  });

  test('a background resume carries the answer', async () => {
    const answer = `French ${'x'.repeat(200_000)}`;
    const replies = {
      writer: [{ suspend: 'Which?', reply: '---\n$status: written\nwords: 1\n---\nIn {{ answer }}' }],
      checker: ['---\n$status: accepted\n---\nGood'],
    };
    const repository = createLoopRepository(replies);
    const thread = await repository.start('loop', 'Write something');
    await repository.uwf(['thread', 'run', thread]);
    expect(await repository.json(['thread', 'resume', thread, '-p', '-', '-b'], { input: answer })).toMatchObject({
      thread,
      status: 'running',
    });
    expect(await repository.uwf(['thread', 'join', thread])).toMatchObject({ code: 0 });
    expect(await repository.json(['step', 'show', '1', '--thread', thread])).toMatchObject({
      text: expect.stringContaining(answer),
    });
  });

  test('a thread that waits for nobody takes no answer, and goes on without one', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    expect(await repository.uwf(['thread', 'resume', thread, '-p', 'Blue'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`thread ${thread} is idle: it does not wait for an answer`),
    });
    expect(await repository.uwf(['thread', 'resume', thread])).toMatchObject({ code: 0 });
    expect(await repository.json(['thread', 'show', thread])).toMatchObject({ status: 'ended' });
  });
});

describe('uwf thread show', () => {
  test('has the fields that scripts rely on', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    const idle = (await repository.json(['thread', 'show', thread])) as object;
    expect(Object.keys(idle).slice(0, 10)).toEqual([
      'thread',
      'status',
      'workflow',
      'head',
      'steps',
      'nextRole',
      'parent',
      'children',
      'startedAt',
      'endedAt',
    ]);
    expect(idle).toMatchObject({
      thread,
      status: 'idle',
      workflow: 'loop',
      head: oid,
      steps: 0,
      nextRole: 'writer',
      parent: null,
      children: [],
      startedAt: iso,
      endedAt: null,
    });
    await repository.uwf(['thread', 'run', thread]);
    expect(await repository.json(['thread', 'show', thread])).toMatchObject({
      status: 'ended',
      steps: 4,
      nextRole: null,
      endedAt: iso,
      returnCode: 0,
    });
  });

  test('works from a subfolder, a linked worktree, by -C and by UWF_REPOSITORY', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    repository.write('deep/down/file', '');
    repository.git('add', '.');
    repository.git('commit', '-q', '-m', 'one');
    const linked = join(repository.dir, '..', `${thread}-linked`);
    repository.git('worktree', 'add', '-q', linked);
    const show = ['thread', 'show', thread, '--json=thread'];
    const expected = { code: 0, stdout: `{"thread":"${thread}"}\n` };
    expect(await repository.uwf(show, { cwd: join(repository.dir, 'deep/down') })).toMatchObject(expected);
    expect(await repository.uwf(show, { cwd: linked })).toMatchObject(expected);
    repository.git('worktree', 'remove', linked);
    const outside = { cwd: '/', env: {} };
    expect(await repository.uwf(['-C', repository.dir, ...show], outside)).toMatchObject(expected);
    expect(await repository.uwf([...show, `-C${repository.dir}`], outside)).toMatchObject(expected);
    expect(await repository.uwf(show, { cwd: '/', env: { UWF_REPOSITORY: repository.dir } })).toMatchObject(expected);
    expect(await repository.uwf(show, outside)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not in a git repository'),
    });
    expect(await repository.uwf(['-C', '/', ...show], { env: { UWF_REPOSITORY: repository.dir } })).toMatchObject({
      code: 1,
    });
  });

  test('an unknown and an ambiguous id are said', async () => {
    const repository = createLoopRepository();
    await repository.start('loop', 'Write something');
    await repository.start('loop', 'Write something');
    await repository.says('thread show zzz', 2, "there is no thread 'zzz'");
    await repository.says('thread show 01', 2, 'any of 2 threads');
  });
});

describe('uwf thread list', () => {
  test('shows what is not over, the suspended first, then the newest', async () => {
    const repository = createLoopRepository({ ...loopReplies, writer: [{ suspend: 'Which?', reply: 'x' }] });
    const waiting = await repository.start('loop', 'the one that waits');
    await repository.uwf(['thread', 'run', waiting]);
    const older = await repository.start('loop', 'the older one');
    const newer = await repository.start('loop', 'the newer one');
    const cancelled = await repository.start('loop', 'Write something');
    await repository.uwf(['thread', 'cancel', cancelled]);
    const list = (await repository.json(['thread', 'list'])) as { thread: string }[];
    expect(list.map(({ thread }) => thread)).toEqual([waiting, newer, older]);
    expect(list[0]).toMatchObject({ status: 'suspended', workflow: 'loop', startedAt: iso, head: oid });
    const { stdout } = await repository.uwf(['thread']);
    expect(stdout.split('\n')[0]).toMatch(/^THREAD +STATUS +WORKFLOW +STEPS +NEXT +STARTED +WHY +TASK$/);
    expect(stdout.split('\n')[1]).toMatch(
      new RegExp(`^${waiting} +suspended +loop +0 +writer +just now +Which\\? +the one that waits$`),
    );
    expect(list[0]).toMatchObject({ cause: 'agent', reason: 'Which?' });
    expect(list[1]).toMatchObject({ cause: null, reason: null });

    const ids = async (...argv: string[]): Promise<string[]> =>
      ((await repository.json(['thread', 'list', ...argv])) as { thread: string }[]).map(({ thread }) => thread);
    expect(await ids('--all')).toEqual([waiting, cancelled, newer, older]);
    expect(await ids('--status', 'cancelled')).toEqual([cancelled]);
    expect(await ids('--status', 'cancelled,suspended')).toEqual([waiting, cancelled]);
    expect(await ids('--workflow', 'other')).toEqual([]);
    // A piece of the list is in order of age alone.
    expect(await ids('--limit', '2')).toEqual([newer, older]);
    expect(await ids('--limit', '1')).toEqual([newer]);
    expect(await ids('--limit', '1', '--cursor', newer)).toEqual([older]);
    expect(await ids('--limit', '2', '--cursor', older)).toEqual([waiting]);
    expect(await ids('--limit', '1', '--status', 'suspended')).toEqual([waiting]);
    expect(await ids('--since', '1h')).toHaveLength(3);
    expect(await ids('--until', '2020-01-01')).toEqual([]);
  });

  test('fits the terminal, with ids that can be given and why each thread waits', async () => {
    const asking = 'どのデータベースを使いますか、それとも\n🚀❤️✅を待ちますか'.repeat(3);
    const repository = createLoopRepository({ ...loopReplies, writer: [{ suspend: asking, reply: 'x' }] });
    await repository.uwf(['run', 'loop', '-p', '日本語の仕事'.repeat(20)]);
    await repository.uwf(['run', 'loop', '--limit', '0', '-p', 'x']);
    await repository.uwf(['run', 'loop', '--limit', '1', '-p', 'y']);
    const ids = ((await repository.json(['thread', 'list'])) as { thread: string }[]).map(({ thread }) => thread);
    for (const columns of [40, 80, 120, 200]) {
      const { stdout } = await repository.uwf(['thread', 'list'], { isTTY: true, columns, env: { NO_COLOR: '1' } });
      const [head = '', ...rows] = stdout.trimEnd().split('\n');
      expect(rows).toHaveLength(ids.length);
      for (const line of [head, ...rows]) expect(widthOf(line)).toBeLessThanOrEqual(columns);
      expect(head).toContain('WHY');
      expect(stdout).toMatch(/ どのデ/);
      for (const [place, row] of rows.entries()) {
        const prefix = row.split(' ')[0] ?? '';
        expect(prefix.length).toBeGreaterThanOrEqual(columns === 200 ? 26 : 10);
        expect(await repository.json(['thread', 'show', prefix])).toMatchObject({ thread: ids[place] });
      }
    }
    expect((await repository.uwf(['thread', 'list'])).stdout).toContain('日本語の仕事'.repeat(20));
  });

  test('says how to see more when there is nothing', async () => {
    const { uwf } = createLoopRepository();
    expect(await uwf(['thread', 'list'])).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('thread list --all'),
    });
    expect(await uwf(['thread', 'list', '--json'])).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' });
  });
});

describe('uwf thread read', () => {
  test('prints the task and every reply, oldest first', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    await repository.uwf(['thread', 'run', thread]);
    const { stdout } = await repository.uwf(['thread', 'read', thread]);
    expect(stdout.match(/^# (?:The task|\d\. \w+)$/gm)).toEqual([
      '# The task',
      '# 1. writer',
      '# 2. checker',
      '# 3. writer',
      '# 4. checker',
    ]);
    const pages = (await repository.json(['thread', 'read', thread, '-n', '2', '--before', '4'])) as {
      number: number;
    }[];
    expect(pages.map(({ number }) => number)).toEqual([2, 3]);
    expect(await repository.json(['thread', 'read', thread, '--before', '2'])).toMatchObject([
      { role: null, text: 'Write something', number: 0 },
      { role: 'writer', text: '# A first draft', meta: { words: 2 }, step: hash },
    ]);
  });
});

describe('the end of a thread', () => {
  test('cancel ends it with 130; cancelling again is refused', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    expect(await repository.json(['thread', 'cancel', thread, '-m', 'superseded'])).toEqual({
      event: 'thread.cancelled',
      thread,
      status: 'cancelled',
      returnCode: 130,
      head: oid,
      text: 'superseded',
    });
    await repository.says(`thread cancel ${thread}`, 2, 'over already');
    expect((await repository.lines(['thread', 'run', thread])).at(-1)).toMatchObject({ event: 'thread.cancelled' });
  });

  test('rm removes what is over, and the rest with --force only', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    await repository.says(`thread rm ${thread}`, 2, '--force');
    expect(await repository.json(['thread', 'rm', thread, '--force'])).toEqual({ thread, head: oid, unmerged: null });
    expect(repository.git('for-each-ref')).toBe('');
    expect(await repository.uwf(['thread', 'show', thread])).toMatchObject({ code: 2 });
  });

  test('stop and join say when nobody works', async () => {
    const repository = createLoopRepository();
    const thread = await repository.start('loop', 'Write something');
    expect(await repository.json(['thread', 'stop', thread])).toEqual({
      thread,
      status: 'idle',
      head: oid,
      wasRunning: false,
      isKilled: false,
    });
    expect(await repository.json(['thread', 'join', thread])).toMatchObject({ event: 'thread.idle', status: 'idle' });
  });

  test('stop ends a run in another process, and join gives up in time', async () => {
    const repository = createLoopRepository({ ...loopReplies, checker: [{ delayMs: 60_000, reply: 'x' }] });
    const { thread } = (await repository.json(['run', 'loop', '-p', 'x', '--background'])) as { thread: string };
    expect(await repository.uwf(['thread', 'join', thread, '--timeout', '200ms'])).toMatchObject({ code: 124 });
    expect(await repository.uwf(['thread', 'rm', thread])).toMatchObject({ code: 5 });
    await expect
      .poll(async () => repository.json(['thread', 'show', thread]), { timeout: 20_000 })
      .toMatchObject({ steps: 1, status: 'running' });
    expect(await repository.json(['thread', 'stop', thread])).toMatchObject({
      wasRunning: true,
      isKilled: false,
      status: 'idle',
    });
  });
});

test('a bare repository reads workflows from the registry and agents from its own configuration', async () => {
  const bare = createCliRepository({}, { bare: true });
  bare.write('uwf/config.yaml', scriptedConfig(loopReplies));
  bare.write('elsewhere/loop.yaml', loopWorkflow);
  expect(await bare.uwf(['workflow', 'add', 'elsewhere/loop.yaml'])).toMatchObject({ code: 0 });
  expect(await bare.uwf(['run', 'loop', '-p', 'x'])).toMatchObject({
    code: 0,
    stdout: 'The text was accepted after 4 steps.\n',
  });
  expectCleanFsck(bare.dir);
});
