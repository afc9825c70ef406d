import { describe, expect, test } from 'vitest';
import { createCliRepository, createLoopRepository, loopReplies, loopWorkflow } from '../../helpers/cli.ts';
import type { CliRepository } from '../../helpers/cli.ts';

const parentWorkflow = `name: parent
description: lets a workflow do the second role
roles:
  first: { description: first, systemPrompt: x, schema: { type: object, properties: { $status: { const: done } }, required: [$status] } }
  middle: { description: middle, systemPrompt: x, schema: { type: object, properties: { $status: { type: string } }, required: [$status] } }
  last: { description: last, systemPrompt: x, schema: { type: object, properties: { $status: { const: done } }, required: [$status] } }
moderator:
  - { from: __start__, to: first, when: null }
  - { from: first, to: middle, when: null, prompt: Do it. }
  - { from: middle, to: last, when: null }
  - { from: last, to: __end__, when: null }
`;

function createParentRepository(writer: unknown = loopReplies.writer): CliRepository {
  const done = ['---\n$status: done\n---\nDone'];
  const replies = { ...loopReplies, writer, first: done, last: done };
  return createCliRepository({
    '.uwf/workflows/parent.yaml': parentWorkflow,
    '.uwf/workflows/loop.yaml': loopWorkflow,
    '.uwf/config.yaml': JSON.stringify({
      agents: {
        script: { package: 'builtin:scripted', config: { replies, repeat: true } },
        loop: { package: 'builtin:workflow', config: { workflow: 'loop' } },
      },
      defaultAgent: 'script',
      roles: { 'parent.middle': 'loop' },
    }),
  });
}

async function run({ lines }: CliRepository, workflow: string): Promise<{ thread: string; head: string }> {
  const last = (await lines(['run', workflow, '-p', 'Write something'])).at(-1);
  return { thread: String(last?.['thread']), head: String(last?.['head']) };
}

test('the log tells a thread newest first, each commit of it once', async () => {
  const repository = createLoopRepository();
  const { thread, head } = await run(repository, 'loop');
  const { stdout } = await repository.uwf(['log', thread]);
  expect(stdout.match(/^(?:start|step|suspend|resume|end) [0-9A-Z]{13}/gm)).toHaveLength(6);
  expect(stdout.match(/^Commit: (\w+)$/gm)?.map((line) => line.slice(8))).toEqual(
    repository.git('log', '--first-parent', '--format=%H', head).split('\n'),
  );
  expect(stdout.split('\n')[0]).toMatch(new RegExp(`^end [0-9A-Z]{13} \\(head of ${thread}: ended\\)$`));
  expect(stdout).toContain('Role:   writer written  (script)');
  expect(stdout).toContain('\n    # A first draft\n');
});

test.each([
  ['a share of it', '100%', '100%'],
  ['what a terminal would obey', '\u001B[31mred\u001B[2J', '[31mred[2J'],
  ['a name too long for an address', 'Ä'.repeat(300), 'Ä'.repeat(300)],
])('an agent whose name is %s is told', async (_, agent, told) => {
  const repository = createLoopRepository();
  const agents = { [agent]: { package: 'builtin:scripted', config: { replies: loopReplies, repeat: true } } };
  repository.write('.uwf/config.yaml', JSON.stringify({ agents, defaultAgent: agent }));
  const { thread } = await run(repository, 'loop');
  const { code, stdout } = await repository.uwf(['log', thread, '-n', '2']);
  expect(code).toBe(0);
  expect(/ {2}\((.*)\)$/m.exec(stdout)?.[1]).toBe(told);
});

test('--oneline says each in a line, -n the newest only', async () => {
  const repository = createLoopRepository();
  const { thread } = await run(repository, 'loop');
  const { stdout } = await repository.uwf(['log', thread, '--oneline', '-n', '3']);
  expect(stdout.replaceAll(/\b[0-9A-F][0-9A-Z]{12}(?= )/g, 'HASH').split('\n')).toEqual([
    `thread ${thread} (ended, workflow loop)`,
    'HASH completed: The text was accepted after 4 steps.',
    'HASH checker accepted: Good',
    'HASH writer written: A second draft',
    '',
  ]);
});

test('without a thread it is the last one; --all tells every one', async () => {
  const repository = createLoopRepository();
  const first = await run(repository, 'loop');
  const second = await run(repository, 'loop');
  const titles = async (...argv: string[]): Promise<unknown> =>
    (await repository.uwf(['log', '--oneline', ...argv])).stdout.match(/(?<=^thread )\w+/gm);
  expect(await titles()).toEqual([second.thread]);
  expect(await titles('--all')).toEqual([second.thread, first.thread]);
  expect(await createLoopRepository().uwf(['log'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('no threads yet'),
  });
});

test('under --json entries carry their text', async () => {
  const repository = createLoopRepository();
  const { thread, head } = await run(repository, 'loop');
  const entries = (await repository.json(['log', thread])) as object[];
  expect(entries.map((entry) => (entry as { kind: string }).kind)).toEqual([
    'end',
    'step',
    'step',
    'step',
    'step',
    'start',
  ]);
  expect(entries[0]).toMatchObject({ thread, head, status: 'completed', text: 'The text was accepted after 4 steps.' });
  expect(entries.at(-1)).toMatchObject({ text: 'Write something', role: null });
});

describe('--graph', () => {
  test('draws a child beside its caller, as git does', async () => {
    const repository = createParentRepository();
    const { thread, head } = await run(repository, 'parent');
    const { stdout } = await repository.uwf(['log', thread, '--graph']);
    const rails = (text: string): string[] =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => /^[*|/\\ ]*/.exec(line)?.[0].trimEnd() ?? '');
    expect(rails(stdout).slice(1)).toEqual(rails(repository.git('log', '--graph', '--format=%h', head)));
  });

  test('shows a child that waits beside its caller, above the commit that it was called from', async () => {
    const repository = createParentRepository([{ suspend: 'Which language?', reply: 'x' }]);
    const { thread } = await run(repository, 'parent');
    const { stdout } = await repository.uwf(['log', thread, '--graph']);
    expect(
      stdout
        .replaceAll(/\b[0-9A-F][0-9A-Z]{12}(?= )/g, 'HASH')
        .split('\n')
        .slice(1, 6),
    ).toEqual([
      '* HASH middle suspended: Which language?',
      '| * HASH writer suspended: Which language?',
      '| * HASH start: Do it.',
      '|/',
      '* HASH first done: Done',
    ]);
  });
});

test('show names parent and children, and a child can be answered for its parent to go on', async () => {
  const repository = createParentRepository([
    { suspend: 'Which?', reply: '---\n$status: written\nwords: 1\n---\nIn {{ answer }}' },
  ]);
  const { thread } = await run(repository, 'parent');
  const { children } = (await repository.json(['thread', 'show', thread])) as { children: string[] };
  const [child = ''] = children;
  expect(await repository.json(['thread', 'show', child])).toMatchObject({
    parent: thread,
    depth: 1,
    status: 'suspended',
  });
  const { stderr } = await repository.uwf(['thread', 'resume', child, '-p', 'French']);
  expect(stderr).toContain('writer written: In French');
  expect(await repository.json(['thread', 'show', thread])).toMatchObject({ children: [child] });
});

test.each([[], ['--oneline'], ['--graph'], ['--json']])(
  'a thread that is damaged hides no other from the log of all %s',
  async (...options) => {
    const repository = createLoopRepository();
    const first = (await repository.json(['thread', 'start', 'loop', '-p', 'One'])) as { thread: string };
    const second = (await repository.json(['thread', 'start', 'loop', '-p', 'Two'])) as { thread: string };
    const tree = repository.git('hash-object', '-w', '-t', 'tree', '/dev/null').trim();
    const strange = repository.git('-c', 'user.name=x', '-c', 'user.email=x@x', 'commit-tree', '-m', 'x', tree);
    repository.git('update-ref', `refs/threads/${second.thread}`, strange.trim());
    const { code, stdout, stderr } = await repository.uwf(['log', '--all', ...options]);
    expect(stdout).toContain('One');
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is damaged') });
    expect((await repository.uwf(['log', first.thread, ...options])).code).toBe(0);
  },
);
