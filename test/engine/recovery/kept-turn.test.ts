import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { asStorageError } from '../../../src/git/format/object-errors.ts';
import type { Repository } from '../../../src/git/repository.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { configOf, statuses, workflow } from '../engine-fixture.ts';

const chain = workflow('chain', { a: statuses('done'), b: statuses('done') }, [
  { from: '__start__', to: 'a', when: null },
  { from: 'a', to: 'b', when: null },
  { from: 'b', to: '__end__', when: null },
]);

type Scene = TemporaryRepository & {
  repository: Repository;
  engine: Engine;
  events: EngineEvent[];
  /** How many turns agents have taken. */
  runs: () => number;
  /** Where a thread's turn is kept. */
  keptAt: (thread: string) => string;
  unlock: (thread: string) => void;
};

/** A repository whose agents leave a lock of git's on their thread's ref, as a git does that was killed. */
async function createScene(
  says = "printf -- '---\\n$status: done\\n---\\n%s did it.\\n' $UWF_ROLE",
  lockTimeoutMs = 20,
): Promise<Scene> {
  await prepareHashing();
  const temporary = createTemporaryRepository();
  const repository = await temporary.open({ lockTimeoutMs });
  const script = `echo "$UWF_ROLE" >> .git/runs; [ -e .git/free ] || : > .git/refs/threads/$UWF_THREAD.lock; ${says}`;
  const agent = { package: 'builtin:command', config: { argv: ['sh', '-c', script] } };
  const config: Config = { ...configOf({ a: agent, b: agent }), snapshot: { mode: 'on' } };
  const events: EngineEvent[] = [];
  const onEvent = (event: EngineEvent): void => void events.push(event);
  const engine = createEngine({ repository, config, env: { PATH: process.env['PATH'] }, onEvent });
  const git = join(temporary.dir, '.git');
  writeFileSync(join(temporary.dir, 'file'), 'one\n');
  return {
    ...temporary,
    repository,
    engine,
    events,
    runs: () => readFileSync(join(git, 'runs'), 'utf8').trim().split('\n').length,
    keptAt: (thread) => join(git, 'uwf', 'pending', `${thread}.json`),
    unlock: (thread) => {
      rmSync(join(git, 'refs', 'threads', `${thread}.lock`));
      writeFileSync(join(git, 'free'), '');
    },
  };
}

async function keepOne(scene: Scene): Promise<string> {
  const { thread } = await scene.engine.start({ definition: chain, prompt: 'x' });
  const path = scene.keptAt(thread);
  await expect(scene.engine.step(thread)).rejects.toMatchObject({
    code: 'ref-locked',
    kind: 'conflict',
    message: expect.stringContaining(`kept in ${path}`),
    hint: expect.stringContaining(`uwf thread run ${thread}`),
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect((await scene.engine.describe(thread)).kept).toBe(path);
  scene.unlock(thread);
  return thread;
}

describe('a reply that could not be stored', () => {
  test.each(['step', 'run', 'resume'] as const)('is stored by the next %s, and no agent runs for it', async (verb) => {
    const scene = await createScene();
    const thread = await keepOne(scene);
    rmSync(join(scene.dir, 'file'));
    scene.git('gc', '--quiet');
    const { head } = await scene.engine[verb](thread);
    expect(scene.runs()).toBe(verb === 'step' ? 1 : 2);
    const step = verb === 'step' ? head : `${head}~2`;
    expect(scene.git('show', `${step}:output.md`)).toBe('a did it.');
    // As they were when the agent had finished.
    expect(scene.git('show', `${step}^2:file`)).toBe('one');
    expect(scene.events.filter(({ event }) => event === 'reply.stored')).toHaveLength(1);
    expect(existsSync(scene.keptAt(thread))).toBe(false);
    await scene.engine.run(thread);
    expect(scene.runs()).toBe(2);
    expectCleanFsck(scene.dir);
  });

  test('is written down while a lock is waited for, for a process that is killed then, and forgotten once it is stored', async () => {
    const scene = await createScene(undefined, 60_000);
    const { thread } = await scene.engine.start({ definition: chain, prompt: 'x' });
    const log = join(scene.dir, '.git', 'uwf', 'turns', `${thread}.jsonl`);
    const step = scene.engine.step(thread);
    await vi.waitFor(() => expect(readFileSync(log, 'utf8')).toContain('"kind":"arrived"'), { timeout: 30_000 });
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(readFileSync(log, 'utf8')).not.toContain('did it');
    scene.unlock(thread);
    expect(await step).toMatchObject({ role: 'a' });
    expect(existsSync(log)).toBe(false);
    await scene.engine.run(thread);
    expect(scene.runs()).toBe(2);
  });

  test('stays kept while it cannot be stored', async () => {
    const scene = await createScene();
    const { thread } = await scene.engine.start({ definition: chain, prompt: 'x' });
    for (const verb of ['step', 'run', 'resume'] as const) {
      await expect(scene.engine[verb](thread)).rejects.toMatchObject({ code: 'ref-locked', isKept: true });
    }
    expect(scene.runs()).toBe(1);
  });

  test('is a question, too, and going on stores it and does not answer it', async () => {
    const scene = await createScene("printf -- '---\\n$status: $SUSPEND\\nreason: Which colour?\\n---\\nI ask.\\n'");
    const thread = await keepOne(scene);
    expect(await scene.engine.resume(thread)).toMatchObject({ event: 'thread.suspended', text: 'Which colour?' });
    expect(scene.runs()).toBe(1);
  });

  test('is kept as a fork where the thread has moved on since', async () => {
    const scene = await createScene();
    const thread = await keepOne(scene);
    const aside = `${scene.keptAt(thread)}.aside`;
    renameSync(scene.keptAt(thread), aside);
    const { head } = await scene.engine.step(thread);
    renameSync(aside, scene.keptAt(thread));
    expect(await scene.engine.step(thread)).toMatchObject({ role: 'b', status: 'ended' });
    const told = scene.events.find(({ event }) => event === 'reply.stored');
    const fork = told?.event === 'reply.stored' ? told.fork : null;
    expect(scene.git('show', `refs/threads/${fork}:output.md`)).toBe('a did it.');
    expect(scene.git('rev-parse', `refs/threads/${fork}^`)).toBe(scene.git('rev-parse', `${head}^`));
    expect(scene.runs()).toBe(3);
    expectCleanFsck(scene.dir);
  });

  test('is stored once, though what failed came after the ref had moved', async () => {
    const scene = await createScene();
    const thread = await keepOne(scene);
    const kept = readFileSync(scene.keptAt(thread));
    await scene.engine.step(thread);
    const refs = scene.git('for-each-ref');
    writeFileSync(scene.keptAt(thread), kept);
    await scene.engine.run(thread);
    expect(scene.git('for-each-ref').split('\n')).toHaveLength(refs.split('\n').length);
    expect(existsSync(scene.keptAt(thread))).toBe(false);
    expect(scene.runs()).toBe(2);
  });

  test('takes the place of the step that it does again', async () => {
    const scene = await createScene();
    writeFileSync(join(scene.dir, '.git', 'free'), '');
    const { thread } = await scene.engine.start({ definition: chain, prompt: 'x' });
    const first = await scene.engine.step(thread);
    rmSync(join(scene.dir, '.git', 'free'));
    await expect(scene.engine.poke(thread, 'Better.')).rejects.toMatchObject({ code: 'ref-locked' });
    scene.unlock(thread);
    await expect(scene.engine.poke(thread, 'Even better.')).rejects.toMatchObject({ code: 'stored-instead' });
    expect(scene.runs()).toBe(2);
    expect(scene.git('log', '-1', '--format=%P', `refs/threads/${thread}`)).toContain(first.head);
    expect(await scene.engine.run(thread)).toMatchObject({ event: 'thread.ended' });
    expect(scene.runs()).toBe(3);
  });

  test('is not believed where its file is damaged, and nothing runs', async () => {
    const scene = await createScene();
    const thread = await keepOne(scene);
    const path = scene.keptAt(thread);
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    expect((await scene.engine.describe(thread)).kept).toBe(path);
    await expect(scene.engine.run(thread)).rejects.toMatchObject({ code: 'kept-turn-damaged', path });
    expect(scene.runs()).toBe(1);
  });
});

test('an error that passes is waited for, and the reply is stored', async () => {
  const scene = await createScene();
  writeFileSync(join(scene.dir, '.git', 'free'), '');
  const { objects } = scene.repository;
  const failures = ['EMFILE', 'ENOENT'];
  let isArmed = false;
  const write: typeof objects.write = async (batch) => {
    const code = isArmed ? failures.shift() : undefined;
    if (code !== undefined) throw asStorageError(Object.assign(new Error(code), { code }), 'a pack');
    return objects.write(batch);
  };
  const faulty = new Proxy(objects, {
    get: (target, name) => {
      if (name === 'write') return write;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const agent = { package: 'builtin:scripted', config: { replies: { a: ['---\n$status: done\n---\nYes.\n'] } } };
  const engine = createEngine({ repository: { ...scene.repository, objects: faulty }, config: configOf({ a: agent }) });
  const { thread } = await engine.start({ definition: chain, prompt: 'x' });
  isArmed = true;
  expect(await engine.step(thread)).toMatchObject({ role: 'a' });
  expect(failures).toEqual([]);
  onTestFinished(() => scene.repository.close());
});

test('a reply that cannot be checked is not thrown away', async () => {
  const { repository, git } = await createScene();
  let failures = 0;
  const refs = new Proxy(repository.refs, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name === 'read' && failures > 0) {
          failures -= 1;
          throw Object.assign(new Error('EIO: injected'), { code: 'EIO' });
        }
        return Reflect.apply(value, target, args);
      };
    },
  });
  const agent = { package: 'builtin:scripted', config: { replies: { a: ['---\n$status: done\n---\nYes.\n'] } } };
  // The next ref to be read is that of what the reply may link to.
  const onEvent = ({ event }: EngineEvent): void => void (failures = event === 'step.started' ? 1 : failures);
  const engine = createEngine({ repository: { ...repository, refs }, config: configOf({ a: agent }), onEvent });
  const { thread } = await engine.start({ definition: chain, prompt: 'x' });
  const { over, head } = await engine.step(thread);
  expect(over).toMatchObject({ event: 'thread.suspended', text: 'the reply could not be checked: EIO: injected' });
  expect(git('show', `${head}:output.md`)).toContain('Yes.');
});
