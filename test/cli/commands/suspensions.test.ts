import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCliRepository, createLoopRepository, type CliRepository } from '../../helpers/cli.ts';
import { startModelServer } from '../../helpers/model-server.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';

const refusedReply = 'French, please';
const acceptedReply = '---\n$status: written\nwords: 2\n---\nEn français';
const replies = {
  // The writer repeats what it was answered.
  writer: [{ suspend: 'Which language?', reply: '{{ answer }}' }],
  checker: ['---\n$status: accepted\n---\nGood'],
};

/** A thread in which a question was answered and a turn has failed; it waits. */
async function withPauses(): Promise<{ repository: CliRepository; thread: string }> {
  const repository = createLoopRepository(replies);
  const thread = await repository.start('loop', 'Write.');
  expect(await repository.uwf(['thread', 'run', thread])).toMatchObject({ code: 4 });
  expect(await repository.uwf(['thread', 'resume', thread, '-p', refusedReply])).toMatchObject({ code: 4 });
  return { repository, thread };
}

type Entry = Record<string, unknown>;

async function entries(repository: CliRepository, ...words: string[]): Promise<Entry[]> {
  // Each of these commands prints a list of objects.
  return (await repository.json(words)) as Entry[];
}

const hash = expect.stringMatching(/^[0-9A-Z]{13}$/) as unknown;
const refused = Array.from({ length: 3 }, () => ({
  attempt: hash,
  errors: [expect.stringContaining('front matter')],
}));
const waits = { role: 'writer', reason: expect.stringContaining('in 3 tries'), cause: 'invalid-reply' };

describe('a suspension and its answer are shown in their place', () => {
  test('by thread read, once and at length', async () => {
    const { repository, thread } = await withPauses();
    const read = await entries(repository, 'thread', 'read', thread);
    expect(read).toMatchObject([
      { kind: 'start', number: 0, text: 'Write.' },
      { kind: 'suspend', role: 'writer', reason: 'Which language?', cause: 'agent', text: '', suspension: hash },
      { kind: 'resume', role: null, text: refusedReply, suspension: read[1]!['suspension'] },
      {
        kind: 'suspend',
        ...waits,
        text: refusedReply,
        refused: refused.map((each) => ({ ...each, text: refusedReply })),
      },
    ]);
    const { stdout } = await repository.uwf(['thread', 'read', thread]);
    expect(stdout).toMatch(/# The task[^]*# writer suspended: Which language\?[^]*# Resumed[^]*French, please/);
    expect(stdout).toMatch(/# writer suspended: .* in 3 tries[^]*## Reply 3, not accepted\n.*front matter/);
    // The answer, and three replies: what it said last is the one that was refused last.
    expect(stdout.split(refusedReply)).toHaveLength(5);

    await repository.uwf(['thread', 'resume', thread, '-p', acceptedReply]);
    const kinds = (await entries(repository, 'thread', 'read', thread)).map(({ kind }) => kind);
    expect(kinds).toEqual(['start', 'suspend', 'resume', 'suspend', 'resume', 'step', 'step']);
  });

  test('by thread read in pieces, before a step, a suspension or a resumption', async () => {
    const { repository, thread } = await withPauses();
    await repository.uwf(['thread', 'resume', thread, '-p', acceptedReply]);
    const all = await entries(repository, 'thread', 'read', thread);
    const before = async (place: string, ...more: string[]): Promise<Entry[]> =>
      entries(repository, 'thread', 'read', thread, '--before', place, ...more);
    expect(await before('1')).toEqual(all.slice(0, 5));
    for (const [at, entry] of all.entries()) {
      const own = entry['step'] ?? (entry['kind'] === 'resume' ? entry['resumption'] : entry['suspension']);
      if (at > 0) expect(await before(String(own).toLowerCase(), '-n', '3')).toEqual(all.slice(0, at));
    }
    expect(await entries(repository, 'thread', 'read', thread, '-n', '1')).toEqual(all.slice(6));
    const { code, stderr } = await repository.uwf(['thread', 'read', thread, '--before', '0000000000000']);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`'uwf log ${thread}' lists them`) });
  });

  test('by log', async () => {
    const { repository, thread } = await withPauses();
    const log = await entries(repository, 'log', thread);
    expect(log).toMatchObject([
      { kind: 'suspend', ...waits, said: refusedReply, refused, usage: null, trace: null },
      { kind: 'resume', text: refusedReply, suspension: log[2]!['hash'] },
      { kind: 'suspend', role: 'writer', text: 'Which language?', reason: 'Which language?', cause: 'agent', said: '' },
      { kind: 'start' },
    ]);
    const { stdout } = await repository.uwf(['log', thread]);
    expect(stdout).toMatch(/Cause: {2}invalid-reply\n[^]*not accepted: .*front matter/);
    expect(stdout).toContain(`    it said:\n\n    ${refusedReply}`);
    // What was told before is told again without being read.
    expect(await entries(repository, 'log', thread)).toEqual(log);
  });

  test('by step show, read and turns, with a thread and without', async () => {
    const { repository, thread } = await withPauses();
    const [last, , first] = (await entries(repository, 'log', thread)).map((entry) => String(entry['hash']));
    for (const words of [[last!], [last!.slice(0, 9).toLowerCase()], [last!.slice(0, 6), '-t', thread]]) {
      expect(await repository.json(['step', 'show', ...words])).toMatchObject({
        kind: 'suspend',
        step: last,
        number: null,
        status: 'suspended',
        agent: 'script',
        thread,
        ...waits,
        text: refusedReply,
        prompt: expect.stringContaining('You write.'),
        attempts: [hash, hash, hash],
        refused: refused.map((each) => ({ ...each, text: refusedReply })),
      });
      expect(await repository.uwf(['step', 'read', ...words])).toMatchObject({ code: 0, stdout: refusedReply });
      expect(await repository.json(['step', 'turns', ...words])).toMatchObject({ step: last, thread, role: 'writer' });
    }
    expect((await repository.uwf(['step', 'show', last!])).stdout).toContain(refusedReply);
    const { stdout, stderr } = await repository.uwf(['step', 'read', first!]);
    expect(stdout).toBe('');
    const [, hint = ''] = /'uwf (step show \w+)'/.exec(stderr) ?? [];
    expect((await repository.uwf(hint.split(' '))).stdout).toContain('Which language?');
    expect((await repository.uwf(['step', 'read', first!, '--prompt'])).stdout).toContain('You write.');
  });

  test('by thread show, which says what the turn came to that waits', async () => {
    const { repository, thread } = await withPauses();
    expect(await repository.json(['thread', 'show', thread])).toMatchObject({
      status: 'suspended',
      nextRole: 'writer',
      reason: waits.reason,
      suspension: { suspension: hash, ...waits, text: refusedReply, refused, trace: null, usage: null },
    });
    const { stdout } = await repository.uwf(['thread', 'show', thread]);
    expect(stdout).toMatch(/cause +invalid-reply; 3 replies not accepted\nsaid +French, please\n/);
    const [, hint = ''] = /'uwf (step show \w+)' shows all of it/.exec(stdout) ?? [];
    expect(await repository.uwf(hint.split(' '))).toMatchObject({ code: 0, stderr: '' });
    await repository.uwf(['thread', 'resume', thread, '-p', acceptedReply]);
    expect(await repository.json(['thread', 'show', thread])).toMatchObject({ status: 'ended', suspension: null });
  });

  test('by the last line of a run and of a step, which name who waits', async () => {
    const { repository, thread } = await withPauses();
    const suspension = String((await entries(repository, 'log', thread))[0]!['hash']);
    const stands = {
      thread,
      status: 'suspended',
      role: 'writer',
      cause: 'invalid-reply',
      suspension,
      returnCode: null,
    };
    expect(await repository.lines(['thread', 'step', thread])).toMatchObject([
      { ...stands, reason: waits.reason, step: null, nextRole: null },
    ]);
    expect((await repository.lines(['thread', 'run', thread])).at(-1)).toMatchObject({
      event: 'thread.suspended',
      ...stands,
      text: waits.reason,
    });
    const over = await repository.lines(['thread', 'resume', thread, '-p', acceptedReply]);
    expect(Object.keys(over.at(-1)!)).not.toContain('suspension');
  });

  test('a resumption is no turn, and what is nothing is named', async () => {
    const { repository, thread } = await withPauses();
    const resumption = String((await entries(repository, 'log', thread))[1]!['hash']);
    await repository.says(`step show ${resumption} -t ${thread}`, 2, `'uwf thread read ${thread}' shows what it says`);
    await repository.says('step read 0000000000000', 2, "no thread has a step or suspension '0000000000000'");
  });
});

test('what is said to be done next with a turn that failed, or a fork of it, takes it again and asks for no answer', async () => {
  const { repository, thread } = await withPauses();
  for (const words of [
    ['thread', 'ask', thread, '-p', 'Why?'],
    ['thread', 'compact', thread],
    ['thread', 'poke', thread, '-p', 'Shorter.'],
    ['thread', 'join', thread],
  ]) {
    const { stderr } = await repository.uwf(words);
    expect(stderr, words.join(' ')).toContain(`'uwf thread resume ${thread}' takes the turn again`);
    expect(stderr).not.toMatch(/<answer>|'uwf thread (?:run|step)/);
  }
  const { stdout, stderr } = await repository.uwf(['thread', 'fork', thread]);
  expect(stderr).toContain(`'uwf thread resume ${stdout.trim()}' takes the turn again`);
  await repository.says(`thread join ${thread} --json`, 4, '"role":"writer","cause":"invalid-reply"');
});

test('what is said to be done next with a thread that waits at a limit, or a fork of it, is no answer, which is refused', async () => {
  const repository = createLoopRepository({ ...replies, writer: [acceptedReply], checker: [] });
  const thread = await repository.start('loop', 'Write.');
  writeFileSync(join(repository.dir, '.git', 'uwf', 'config.yaml'), 'limits: { maxSteps: 1 }\n');
  expect(await repository.uwf(['thread', 'run', thread])).toMatchObject({ code: 4 });
  const fork = await repository.uwf(['thread', 'fork', thread]);
  for (const { stderr, id } of [
    { ...fork, id: fork.stdout.trim() },
    { ...(await repository.uwf(['thread', 'poke', thread, '-p', 'x'])), id: thread },
  ]) {
    expect(stderr).toContain(`'uwf thread resume ${id}'`);
    expect(stderr).not.toContain('<answer>');
  }
});

test('two questions, a failed turn and the answers are read alike where they were given and in a clone', async () => {
  const asks = (reason: string, said: string): { text: string } => ({
    text: `---\n$status: $SUSPEND\nreason: ${reason}\n---\n${said}`,
  });
  const server = await startModelServer([
    asks('Which colour?', 'I see red and blue.'),
    asks('How large?', 'Blue, then.'),
    { text: 'rubbish one' },
    { text: 'rubbish two' },
    { text: 'rubbish three' },
    {
      text: 'A small blue one.',
      calls: [{ name: 'report_result', arguments: { result: { $status: 'written', words: 4 } } }],
    },
  ]);
  const model = { package: 'builtin:llm', config: { baseUrl: server.url, model: 'scripted' } };
  const script = { package: 'builtin:scripted', config: { replies, repeat: true } };
  const agents = JSON.stringify({ agents: { model, script }, defaultAgent: 'script', roles: { writer: 'model' } });
  const here = createLoopRepository();
  here.write('.uwf/config.yaml', agents);
  const shared = createTemporaryRepository({ bare: true });
  here.git('remote', 'add', 'origin', shared.dir);
  const thread = await here.start('loop', 'Draw.');
  await here.uwf(['thread', 'run', thread]);
  await here.uwf(['thread', 'resume', thread, '-p', 'The blue one.']);
  await here.uwf(['thread', 'resume', thread, '-p', 'Small.']);
  await here.uwf(['push', '--all']);

  const there = createCliRepository({ '.uwf/config.yaml': agents });
  there.git('remote', 'add', 'origin', shared.dir);
  await there.uwf(['fetch']);
  expect(await there.uwf(['thread', 'resume', thread])).toMatchObject({ code: 0 });
  await there.uwf(['push', '--all']);
  await here.uwf(['fetch']);

  const story = [
    'Draw.',
    'Which colour?',
    'I see red and blue.',
    'The blue one.',
    'How large?',
    'Blue, then.',
    'Small.',
    'in 3 tries',
    'rubbish one',
    'rubbish two',
    'A small blue one.',
  ];
  for (const words of [
    ['thread', 'read', thread],
    ['thread', 'read', thread, '--json'],
  ]) {
    const { stdout } = await there.uwf(words);
    const places = story.map((part) => stdout.indexOf(part));
    expect(places, stdout).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect((await here.uwf(words)).stdout).toBe(stdout);
  }
  for (const words of [
    ['log', thread],
    ['log', thread, '--json'],
    ['thread', 'export', thread, '--with-nodes'],
  ]) {
    const { stdout } = await there.uwf(words);
    // The log leaves out replies that were not accepted, and 'step show' has them.
    const parts = words[0] === 'log' ? story.filter((part) => !part.startsWith('rubbish')) : story;
    for (const part of parts) expect(stdout).toContain(part);
    expect((await here.uwf(words)).stdout).toBe(stdout);
  }

  const log = await entries(there, 'log', thread);
  const asked = log.filter(({ kind }) => kind === 'suspend');
  expect(asked).toMatchObject([
    { trace: hash, usage: { inputTokens: 30, outputTokens: 15, turns: 3 } },
    { trace: hash },
    { trace: hash },
  ]);
  const [, hint = ''] = /'uwf (step turns \w+)' shows it/.exec((await there.uwf(['log', thread])).stdout) ?? [];
  expect((await there.uwf(hint.split(' '))).stdout).toContain('# Suspended turn: writer');
});
