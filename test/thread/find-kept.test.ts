import { describe, expect, test } from 'vitest';
import { type CliRepository, createCliRepository } from '../helpers/cli.ts';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config } from '../faults/scene.ts';

/** A workflow that calls another, which calls a third; `text` is what the last one says. */
function createStack(reply: unknown): CliRepository {
  const below = (workflow: string): object => ({ package: 'builtin:workflow', config: { workflow } });
  const agents = {
    script: { package: 'builtin:scripted', config: { replies: { dig: [reply] }, repeat: true } },
    'to-middle': below('middle'),
    'to-bottom': below('bottom'),
  };
  const roles = { 'top.call': 'to-middle', 'middle.call': 'to-bottom' };
  return createCliRepository({
    '.uwf/workflows/top.yaml': chain('top', ['call']),
    '.uwf/workflows/middle.yaml': chain('middle', ['call']),
    '.uwf/workflows/bottom.yaml': chain('bottom', ['dig']),
    '.uwf/config.yaml': config([], { agents, defaultAgent: 'script', roles }),
  });
}

test('a step is shown by its hash if its thread has no ref: a child that was removed, or an archived thread', async () => {
  const here = createStack('---\n$status: done\n---\nDug.');
  const { thread: top } = (await here.lines(['run', 'top', '-p', 'Dig.'])).at(-1) as { thread: string };
  const threads = (await here.json(['thread', 'list', '--all'])) as { thread: string; workflow: string }[];
  const bottom = threads.find(({ workflow }) => workflow === 'bottom')?.thread ?? '';
  const [step] = (await here.json(['step', 'list', bottom])) as { step: string }[];
  const shown = async (): Promise<unknown> => here.json(['step', 'show', step?.step ?? '']);
  expect(await shown()).toMatchObject({ thread: bottom });
  await here.uwf(['thread', 'rm', bottom]);
  expect(await shown()).toMatchObject({ thread: bottom });
  expect((await here.uwf(['archive', '--before', '2100-01-01'])).stdout).toContain('archived 2 threads');
  await here.uwf(['reindex']);
  expect(await shown()).toMatchObject({ thread: bottom });
  expect(await here.json(['step', 'show', '-t', top, '1'])).toMatchObject({ thread: top });
});

type Shown = { children: string[]; calls: { end: string }[]; status: string; depth: number; parent: string | null };

describe('a child whose commits came with those of its caller', () => {
  test('is shown, read, logged, exported, verified and forked by its id, and by the hash of its end', async () => {
    const here = createStack('---\n$status: done\n---\nDug.');
    const { thread: top } = (await here.lines(['run', 'top', '-p', 'Dig.'])).at(-1) as { thread: string };
    const ref = here.git('for-each-ref', '--format=%(refname)', `refs/history/**/${top}`);
    const other = createCliRepository();
    other.git('fetch', '--quiet', here.dir, `${ref}:${ref}`);

    const show = async (thread: string): Promise<Shown> => (await other.json(['thread', 'show', thread])) as Shown;
    const [middle = ''] = (await show(top)).children;
    const [bottom = ''] = (await show(middle)).children;
    expect(await show(bottom)).toMatchObject({ thread: bottom, status: 'ended', depth: 2, parent: middle });
    expect(other.git('for-each-ref', '--format=%(refname)', 'refs/threads', 'refs/history')).toBe(ref);
    const ends = [top, middle].map(async (caller) => (await show(caller)).calls[0]?.end ?? '');
    for (const [place, thread] of [middle, bottom].entries()) {
      expect(await show(await ends[place]!)).toMatchObject({ thread });
      expect(await show(thread.slice(0, 20))).toMatchObject({ thread });
    }
    for (const command of [['thread', 'read'], ['log'], ['thread', 'verify'], ['step', 'list'], ['thread', 'export']]) {
      const { code, stdout } = await other.uwf([...command, bottom]);
      expect({ command, code }).toEqual({ command, code: 0 });
      expect(stdout).not.toBe('');
    }
    expect((await other.uwf(['thread', 'rm', bottom])).stderr).toContain(`it is part of thread ${top}`);
    const gone = bottom.slice(0, -1) + (bottom.endsWith('0') ? '1' : '0');
    expect(await other.uwf(['thread', 'show', gone])).toMatchObject({ code: 2 });

    const fork = (await other.json(['thread', 'fork', bottom])) as { thread: string; head: string };
    expect(await show(fork.thread)).toMatchObject({ status: 'idle', workflow: 'bottom', steps: 1 });
    expect(await other.uwf(['gc'])).toMatchObject({ code: 0 });
    expect(await show(bottom)).toMatchObject({ status: 'ended' });
    expectCleanFsck(other.dir);
  });
});

test('a question from far below names one thread to answer, in words that name none', async () => {
  const here = createStack({ suspend: 'Where?', reply: '---\n$status: done\n---\nDug {{ answer }}.' });
  const { code, stderr } = await here.uwf(['run', 'top', '-p', 'Dig.']);
  expect(code).toBe(4);
  const [top = ''] = /(?<=uwf thread resume )\w+/.exec(stderr) ?? [];
  expect(stderr).toMatch(/is suspended: Where\?$/m);
  const view = (await here.json(['thread', 'show', top])) as Shown & { reason: string; waitsFor: string };
  expect(view).toMatchObject({ reason: 'Where?', depth: 0, parent: null });
  expect(await here.json(['thread', 'show', view.waitsFor])).toMatchObject({ depth: 2, waitsFor: null });

  // Four lines of each thread on one rail more: the live stack, as git draws it.
  const graph = (await here.uwf(['log', top, '--graph'])).stdout.trimEnd().split('\n').slice(1);
  expect(graph.map((line) => line.replace(/ [0-9A-Z]{13} /, ' '))).toEqual([
    '* call suspended: Where?',
    '| * call suspended: Where?',
    '| | * dig suspended: Where?',
    '| | * start: Dig.',
    '| |/',
    '| * start: Dig.',
    '|/',
    '* start: Dig.',
  ]);

  const { thread: fork } = (await here.json(['thread', 'fork', top])) as { thread: string };
  const ofFork = await here.uwf(['thread', 'show', fork]);
  expect(ofFork.stdout).toContain('Where?');
  expect(ofFork.stdout).not.toContain(top);
  expect(await here.json(['thread', 'show', fork])).toMatchObject({ waitsFor: null, children: [] });

  const over = (await here.lines(['thread', 'resume', top, '-p', 'here'])).at(-1);
  expect(over).toMatchObject({ event: 'thread.ended', thread: top, text: 'Dug here.' });
  expectCleanFsck(here.dir);
});
