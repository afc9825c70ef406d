import { describe, expect, test } from 'vitest';
import { createCliRepository, loopReplies, loopWorkflow, type CliRepository } from '../../helpers/cli.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const other = {
  writer: ['---\n$status: written\nwords: 9\n---\nAnother draft, and a longer one'],
  checker: ['---\n$status: accepted\n---\nGood at once'],
  compactor: ['A draft was written.'],
};

/** A repository with a thread of two steps of the loop, and two agents. */
async function withThread(more: object = {}): Promise<{ repository: CliRepository; thread: string }> {
  const agent = (replies: object): object => ({ package: 'builtin:scripted', config: { replies, repeat: true } });
  const config = { agents: { script: agent(loopReplies), other: agent(other) }, defaultAgent: 'script', ...more };
  const repository = createCliRepository({
    '.uwf/workflows/loop.yaml': loopWorkflow,
    '.uwf/config.yaml': JSON.stringify(config),
  });
  const { stdout } = await repository.uwf(['thread', 'start', 'loop', '-p', 'Write.']);
  const thread = stdout.trim();
  await repository.uwf(['thread', 'step', thread, '-c', '2']);
  return { repository, thread };
}

describe('thread fork', () => {
  test('prints the new thread, which runs by itself', async () => {
    const { repository, thread } = await withThread();
    const before = repository.git('count-objects', '-v');
    const fork = (await repository.json(['thread', 'fork', thread, '--at', '1'])) as Record<string, string>;
    expect(repository.git('count-objects', '-v')).toBe(before);
    expect(fork).toEqual({ thread: expect.any(String), head: expect.any(String), forkedFrom: thread });
    expect(repository.git('rev-parse', `refs/threads/${thread}~1`)).toBe(fork.head);
    const lines = await repository.lines(['thread', 'run', fork.thread!, '--agent', 'other']);
    expect(lines.at(-1)).toMatchObject({ event: 'thread.ended', thread: fork.thread });
    const ofEnded = (await repository.json(['thread', 'fork', fork.thread!])) as Record<string, string>;
    expect(repository.git('ls-tree', '--name-only', ofEnded.head!)).toContain('step.json');
    expect((await repository.uwf(['thread', 'fork', thread, '--at', '7'])).code).toBe(2);
    expect(((await repository.json(['thread', 'fork', thread, '--at', '0'])) as { head: string }).head).toBe(
      repository.git('rev-parse', `refs/threads/${thread}~2`),
    );
  });
});

describe('thread poke', () => {
  test('has the last step done again', async () => {
    const { repository, thread } = await withThread();
    const old = repository.git('rev-parse', `refs/threads/${thread}`);
    const [line] = await repository.lines(['thread', 'poke', thread, '-p', 'Be kinder.', '--agent', 'other']);
    expect(line).toMatchObject({ role: 'checker', status: 'ended', reason: 'The text was accepted after 2 steps.' });
    const steps = (await repository.json(['step', 'list', thread])) as { status: string }[];
    expect(steps.map(({ status }) => status)).toEqual(['written', 'accepted']);
    expect(repository.git('rev-list', String(line!['head'])).split('\n')).toContain(old);
    const refused = await repository.uwf(['thread', 'poke', thread, '-p', 'More.']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('uwf thread fork') });
    expectCleanFsck(repository.dir);
  });
});

describe('thread ask', () => {
  test('prints the answer and leaves the repository as it was', async () => {
    const { repository, thread } = await withThread();
    const refs = repository.git('for-each-ref');
    const objects = repository.git('count-objects', '-v');
    const answer = (await repository.json(['thread', 'ask', thread, '-p', 'Why?', '--agent', 'other'])) as object;
    expect(answer).toMatchObject({ thread, role: 'checker', agent: 'other', isSession: false, text: 'Good at once\n' });
    const [first] = (await repository.json(['step', 'list', thread])) as { step: string }[];
    expect((await repository.uwf(['thread', 'ask', first!.step, '-p', 'Why?'])).stdout).toBe('# A first draft\n');
    expect((await repository.uwf(['thread', 'ask', thread, '--at', '1', '-p', 'Why?'])).stdout).toBe(
      '# A first draft\n',
    );
    expect(repository.git('for-each-ref')).toBe(refs);
    expect(repository.git('count-objects', '-v')).toBe(objects);
    expect((await repository.uwf(['thread', 'ask', thread])).code).toBe(2);
    expect((await repository.uwf(['thread', 'ask', 'ZZZZ', '-p', 'x'])).code).toBe(2);
  });
});

describe('thread compact', () => {
  test('by an agent or from a file, and the next agent is told the summary', async () => {
    const { repository, thread } = await withThread();
    const byAgent = await repository.json(['thread', 'compact', thread, '--agent', 'other']);
    expect(byAgent).toMatchObject({ thread, steps: 2, agent: 'other' });
    const byHand = (await repository.json(['thread', 'compact', thread, '--file', '-'], { input: 'By hand.\n' })) as {
      compact: string;
    };
    const { stdout } = await repository.uwf(['thread', 'context', thread]);
    expect(stdout).toContain('By hand.');
    expect(stdout).not.toMatch(/first draft|A draft was written/);
    await repository.uwf(['thread', 'step', thread]);
    expect(repository.git('show', `refs/threads/${thread}:compact.md`)).toBe('By hand.');
    expect((await repository.uwf(['cas', 'get', byHand.compact, '--thread', thread])).stdout).toBe('By hand.\n');
    expect((await repository.uwf(['thread', 'compact', thread, '--file', '-'], { input: ' ' })).code).toBe(2);
    expect((await repository.uwf(['thread', 'compact', thread, '--file', 'x', '--agent', 'other'])).code).toBe(2);
    expectCleanFsck(repository.dir);
  });
});

describe('thread diff', () => {
  test('shows where two threads part, side by side, and lists what comes after', async () => {
    const { repository, thread } = await withThread();
    const fork = (await repository.uwf(['thread', 'fork', thread, '--at', '1'])).stdout.trim();
    await repository.uwf(['thread', 'step', fork, '--agent', 'other']);
    await repository.uwf(['thread', 'run', thread]);
    const diff = await repository.json(['thread', 'diff', thread, fork]);
    expect(diff).toMatchObject({
      a: thread,
      b: fork,
      ancestor: { kind: 'step', number: 1 },
      firstDifference: 2,
      steps: [
        {
          number: 2,
          isSame: false,
          a: { role: 'checker', status: 'rejected', text: 'Too short' },
          b: { role: 'checker', status: 'accepted', text: 'Good at once' },
        },
        { number: 3, isSame: false, a: { role: 'writer' }, b: null },
        { number: 4, isSame: false, a: { role: 'checker' }, b: null },
      ],
      files: null,
    });
    const { stdout } = await repository.uwf(['thread', 'diff', thread, fork]);
    expect(stdout).toMatch(/^\$status: rejected +│ \$status: accepted$/m);
    expect(stdout).toMatch(/^Too short +│ Good at once$/m);
    expect(stdout).toMatch(/^ +3\. writer: written │ \(none\)$/m);
    const all = (await repository.uwf(['thread', 'diff', thread, fork, '--all'])).stdout;
    expect(all).toMatch(/^A second draft +│$/m);
  });

  test('lists how the files differ that the steps left', async () => {
    const { repository, thread } = await withThread({ snapshot: { mode: 'on' } });
    const fork = (await repository.uwf(['thread', 'fork', thread])).stdout.trim();
    const both = ['thread', 'diff', thread, fork];
    expect(await repository.json(both)).toMatchObject({ files: null });
    repository.write('notes.txt', 'One line.\n');
    await repository.uwf(['thread', 'step', fork]);
    const added = { change: 'added', path: 'notes.txt', added: 1, deleted: 0 };
    expect(await repository.json(both)).toMatchObject({ files: [added], firstDifference: 3 });
    await repository.uwf(['thread', 'step', thread]);
    expect(await repository.json(both)).toMatchObject({ files: [], firstDifference: null });
    expect((await repository.uwf(both)).stdout).toContain('the files are the same');
  });

  test('of a thread and itself, of a step done again, and of threads that share nothing', async () => {
    const { repository, thread } = await withThread();
    const fork = (await repository.uwf(['thread', 'fork', thread])).stdout.trim();
    expect(await repository.json(['thread', 'diff', thread, fork])).toMatchObject({ firstDifference: null, steps: [] });
    await repository.uwf(['thread', 'poke', fork, '-p', 'Again.']);
    // The same agent says the same once more: another commit, no difference.
    expect(await repository.json(['thread', 'diff', thread, fork])).toMatchObject({
      ancestor: { number: 1 },
      firstDifference: null,
      steps: [{ number: 2, isSame: true }],
    });
    const stranger = await repository.start('loop', 'Something else.');
    expect(await repository.json(['thread', 'diff', stranger, thread])).toMatchObject({
      ancestor: null,
      firstDifference: 1,
      steps: [
        { number: 1, a: null },
        { number: 2, a: null },
      ],
    });
  });
});
