import { describe, expect, test } from 'vitest';
import { createCliRepository, loopWorkflow, scriptedConfig, type CliRepository } from '../../helpers/cli.ts';
import { reachable } from '../../helpers/all-written.ts';

/** What only a later run of this machine knows to be secret. */
const KNOWN = 'correct-horse-battery-staple-7731';
const knowing = { env: { DEPLOY_TOKEN: KNOWN } };

const replies = {
  writer: [
    `---\n$status: written\nwords: 3\n---\nThe word is ${KNOWN}.\n\nIt opens all.`,
    '---\n$status: written\nwords: 3\n---\nA second draft',
  ],
  checker: ['---\n$status: rejected\n---\nToo short', '---\n$status: accepted\n---\nGood'],
};

function createScene(more: Record<string, unknown> = {}): CliRepository {
  return createCliRepository({
    '.uwf/workflows/loop.yaml': loopWorkflow,
    '.uwf/config.yaml': scriptedConfig(replies, more),
  });
}

type Redacted = { threads: { thread: string; now: string }[] };

/** Redacts a thread. @returns the ids of the threads that took the place of it and of others, by their ids */
async function redact(home: CliRepository, thread: string): Promise<Map<string, string>> {
  const { code, stdout } = await home.uwf(['thread', 'redact', thread, '--json'], knowing);
  expect({ code, stdout }).toMatchObject({ code: 0 });
  return new Map((JSON.parse(stdout) as Redacted).threads.map((each) => [each.thread, each.now]));
}

describe('a redacted thread', () => {
  test('is sound, goes on as before, and has nothing of the secret', async () => {
    const home = createScene({ snapshot: { mode: 'on' } });
    home.write('src/.env', `A=1\nB=${KNOWN}\n`);
    const thread = await home.start('loop', `use ${KNOWN}`);
    for (let step = 0; step < 3; step += 1) await home.uwf(['thread', 'step', thread]);
    const before = home.git('rev-parse', `refs/threads/${thread}`);
    const story = await home.uwf(['step', 'list', thread, '--json']);
    expect(reachable(home.dir)).toContain(KNOWN);
    const dry = await home.uwf(['thread', 'redact', thread, '-n'], knowing);
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining('output.md') });
    expect(home.git('rev-parse', `refs/threads/${thread}`)).toBe(before);
    const { code, stdout, stderr, all } = await home.uwf(['thread', 'redact', thread], knowing);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('git gc --prune=now') });
    expect(stdout).toContain('workspace/src/.env line 2');
    expect(all).not.toContain(KNOWN);
    const now = home.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads');
    expect(stdout).toContain(`wrote thread ${thread} anew: ${now}`);
    expect(home.git('rev-parse', `refs/uwf/removed/${thread}^{tree}`)).toBe('4b825dc642cb6eb9a060e54bf8d69288fbee4904');
    const steps = JSON.parse((await home.uwf(['step', 'list', now, '--json'])).stdout) as object[];
    expect(steps).toHaveLength((JSON.parse(story.stdout) as object[]).length);
    expect(reachable(home.dir)).not.toContain(KNOWN);
    expect(reachable(home.dir)).toContain('A=1\nB=‹redacted:known:');
    expect(await home.uwf(['thread', 'verify', now])).toMatchObject({ code: 0 });
    expect(home.git('fsck', '--strict', '--no-dangling')).toBe('');
    expect(await home.uwf(['fsck'])).toMatchObject({ code: 0 });
    expect((await home.uwf(['scan'], knowing)).code).toBe(0);
    expect((await home.uwf(['thread', 'redact', now], knowing)).stdout).toBe('no secret found\n');
    expect((await home.uwf(['thread', 'run', now])).code).toBe(0);
    expect(await home.uwf(['thread', 'verify', now])).toMatchObject({ code: 0 });
  });

  test('keeps what is allowed in a file of that path', async () => {
    const allow = [{ rule: 'known', path: 'test/**' }];
    const home = createScene({ snapshot: { mode: 'on' }, redact: { allow } });
    for (const path of ['src/.env', 'test/.env']) home.write(path, `A=1\nB=${KNOWN}\n`);
    const thread = await home.start('loop', `use ${KNOWN}`);
    await home.uwf(['thread', 'step', thread]);
    const now = (await redact(home, thread)).get(thread);
    const step = home.git('rev-parse', `refs/threads/${now}`);
    const snapshot = home.git('rev-parse', `${step}^2`);
    expect(home.git('show', `${snapshot}:test/.env`)).toContain(`B=${KNOWN}`);
    expect(home.git('show', `${snapshot}:src/.env`)).toMatch(/B=‹redacted:known:/u);
  });

  test('takes its forks along, and leaves others', async () => {
    const home = createScene();
    const thread = await home.start('loop', `use ${KNOWN}`);
    await home.uwf(['thread', 'step', thread]);
    await home.uwf(['thread', 'fork', thread]);
    const other = await home.start('loop', 'clean');
    const [fork = ''] = home
      .git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads')
      .split('\n')
      .filter((id) => id !== thread && id !== other);
    await home.uwf(['thread', 'step', fork]);
    const clean = home.git('rev-parse', `refs/threads/${other}`);
    const threads = await redact(home, thread);
    expect([...threads.keys()].toSorted()).toEqual([thread, fork].toSorted());
    expect(home.git('rev-parse', `refs/threads/${other}`)).toBe(clean);
    expect(reachable(home.dir)).not.toContain(KNOWN);
    for (const id of threads.values()) expect((await home.uwf(['thread', 'verify', id])).code).toBe(0);
    const now = `refs/threads/${threads.get(thread)}`;
    expect(home.git('merge-base', now, `refs/threads/${threads.get(fork)}`)).toBe(home.git('rev-parse', now));
  });

  test('takes along the child that it waits for, which is found again', async () => {
    const home = createCalling('builtin:human');
    const thread = await home.start('top', `use ${KNOWN}`);
    expect((await home.uwf(['thread', 'run', thread])).code).toBe(4);
    const now = (await redact(home, thread)).get(thread) ?? '';
    expect(reachable(home.dir)).not.toContain(KNOWN);
    const { children } = (await home.json(['thread', 'show', now])) as { children: string[] };
    expect(children).toHaveLength(1);
    const [child = ''] = children;
    expect((await home.uwf(['fsck'])).code).toBe(0);
    const answer = '---\n$status: done\n---\nDone';
    expect((await home.uwf(['thread', 'resume', child, '-p', answer])).code).toBe(0);
    await home.uwf(['thread', 'run', now]);
    const threads = (await home.json(['thread', 'list', '--all'])) as { thread: string; status: string }[];
    expect(threads.map(({ status }) => status)).toEqual(['ended', 'ended']);
    expect((await home.uwf(['fsck'])).code).toBe(0);
  });

  test('takes along its caller and the children that steps took in', async () => {
    const home = createCalling('below');
    const thread = await home.start('top', `use ${KNOWN}`);
    expect((await home.uwf(['thread', 'run', thread])).code).toBe(0);
    const child = home
      .git('for-each-ref', '--format=%(refname:lstrip=3)', 'refs/history')
      .split('\n')
      .find((id) => id !== thread);
    const threads = await redact(home, child ?? '');
    expect(threads.size).toBe(2);
    expect(reachable(home.dir)).not.toContain(KNOWN);
    expect((await home.uwf(['fsck'])).code).toBe(0);
    // The step that took it in says which child it was.
    const { children } = (await home.json(['thread', 'show', threads.get(thread) ?? ''])) as { children: string[] };
    expect(children).toHaveLength(1);
    expect((await home.uwf(['thread', 'show', children[0] ?? ''])).code).toBe(0);
  });

  test('stays as it is while its caller, which has no secret, waits for it', async () => {
    const home = createCalling('builtin:human');
    const thread = await home.start('top', 'clean');
    expect((await home.uwf(['thread', 'run', thread])).code).toBe(4);
    const { children } = (await home.json(['thread', 'show', thread])) as { children: string[] };
    const [child = ''] = children;
    expect((await home.uwf(['thread', 'cancel', child, '-m', `not ${KNOWN}`])).code).toBe(0);
    const before = home.git('for-each-ref');
    const { code, stderr } = await home.uwf(['thread', 'redact', child], knowing);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`thread ${thread} waits for it`),
    });
    expect(home.git('for-each-ref')).toBe(before);
    expect((await home.uwf(['thread', 'cancel', thread])).code).toBe(0);
    expect((await redact(home, child)).size).toBe(1);
    expect((await home.uwf(['fsck'])).code).toBe(0);
  });
});

function createCalling(below: string): CliRepository {
  const workflow = (name: string): string => `
name: ${name}
description: one role
roles:
  does: { description: does it, schema: { properties: { $status: { const: done } }, required: [$status] } }
graph:
  $START: { new: { role: does, prompt: go } }
  does: { done: { role: $END, prompt: over } }
`;
  const agents = {
    calls: { package: 'builtin:workflow', config: { workflow: 'below' } },
    me:
      below === 'below'
        ? { package: 'builtin:scripted', config: { replies: { does: [`---\n$status: done\n---\nIt was ${KNOWN}.`] } } }
        : { package: below },
  };
  return createCliRepository({
    '.uwf/workflows/top.yaml': workflow('top'),
    '.uwf/workflows/below.yaml': workflow('below'),
    '.uwf/config.yaml': JSON.stringify({ agents, roles: { 'top.does': 'calls', 'below.does': 'me' } }),
  });
}
