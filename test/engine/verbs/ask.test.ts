import { expect, test } from 'vitest';
import { installAgent } from '../../helpers/install-agent.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { statuses, workflow } from '../engine-fixture.ts';

const relay = workflow('relay', { a: statuses('done'), b: statuses('done') }, 'a > b > a');

// It has a session for each role, and says of everything it is told in which one, and what.
const source = `
exports.packageDescriptor = { name: 'remembering', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
exports.createAgent = () => ({
  answers: true,
  async run(request) {
    if (request.prompt.includes('puts something')) await request.cas.put('x');
    request.emit({ kind: 'text', text: 'thinking aloud' });
    const session = request.session ?? 'session of ' + request.role;
    return { kind: 'reply', meta: { $status: 'done' }, text: 'in ' + request.session + ': ' + request.prompt, session };
  },
});
`;

async function remembering(): Promise<{
  engine: Engine;
  repository: Repository;
  events: EngineEvent[];
  git: (...args: string[]) => string;
}> {
  await prepareHashing();
  const { dir, open, git } = createTemporaryRepository();
  installAgent(dir, 'remembering', source);
  const repository = await open();
  const events: EngineEvent[] = [];
  const engine = createEngine({
    repository,
    config: { agents: { it: { name: 'it', package: 'remembering', config: {} } }, defaultAgent: 'it', roles: {} },
    onEvent: (event) => void events.push(event),
  });
  return { engine, repository, events, git };
}

test('a question goes into the session of the step, and where that has gone on the agent is told the step', async () => {
  const { engine, repository, events, git } = await remembering();
  const { thread } = await engine.start({ definition: relay, prompt: 'Run.' });
  for (let i = 0; i < 3; i += 1) await engine.step(thread);
  const refs = git('for-each-ref');
  events.length = 0;

  const newest = await engine.ask(thread, 'Why so?');
  expect(newest).toMatchObject({ role: 'a', agent: 'it', isSession: true });
  expect(newest.text).toMatch(/^in session of a: # A question\n\nWhy so\?/);
  expect(newest.text).not.toContain('Run.');
  const said = events.flatMap((event) => (event.event === 'agent.text' && event.thread === thread ? [event.text] : []));
  expect(said.join('')).toBe('thinking aloud');

  const older = await engine.ask(thread, 'Why then?', { step: 1 });
  expect(older).toMatchObject({ role: 'a', isSession: false });
  expect(older.text).toMatch(/^in undefined: # What you were told/);
  expect(older.text).toContain('Run.');
  expect(older.text).toContain('Why then?');

  const fork = await forkThread(repository, await getThread(repository, thread));
  expect(await engine.ask(fork.thread, 'And you?')).toMatchObject({ isSession: false });
  await engine.cancel(fork.thread);
  expect(git('for-each-ref', 'refs/threads')).toBe(refs);

  await expect(engine.ask(thread, 'One that puts something')).rejects.toMatchObject({ code: 'agent-broken' });
  expect(git('for-each-ref', 'refs/uwf')).toBe('');
  await expect(engine.ask(thread, 'Which?', { step: 4 })).rejects.toMatchObject({ code: 'wrong-thread-state' });
});

test('a poked agent that remembers the turn is told its reply and what there is to say, but not the thread again', async () => {
  const { engine, git } = await remembering();
  const { thread } = await engine.start({ definition: relay, prompt: 'Run.' });
  await engine.step(thread);
  await engine.step(thread);
  const { head } = await engine.poke(thread, 'Slower.');
  const text = git('show', `${head}:output.md`);
  expect(text).toMatch(/^in session of b:/);
  expect(text).toContain('Slower.');
  // Once, in the old reply, which repeats what that was told.
  expect(text.match(/# What was said so far/g)).toHaveLength(1);
});
