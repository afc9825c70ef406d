import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { asStorageError } from '../../../src/git/format/errors.ts';
import { print, scenario, type Scenario } from '../../helpers/scenario.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const flow = 'a > b > end';

/** A thread whose agents leave a lock of git's on its ref, as a git does that was killed, unless there is a file `free`. */
function createScene(says = `${print('done', '%s did it.')} $UWF_ROLE`, lockTimeoutMs = 20): Promise<Scenario> {
  const agent = { program: `[ -e .git/free ] || : > .git/refs/threads/$UWF_THREAD.lock; ${says}` };
  const config = { snapshot: { mode: 'on' } } as const;
  return scenario({ flow, agents: { a: agent, b: agent }, config, open: { lockTimeoutMs }, files: { file: 'one\n' } });
}

const free = ({ dir }: Scenario): string => join(dir, '.git', 'free');

function unlock(scene: Scenario): void {
  rmSync(join(scene.dir, '.git', 'refs', 'threads', `${scene.thread}.lock`));
  writeFileSync(free(scene), '');
}

async function keepOne(scene: Scenario): Promise<string> {
  const path = scene.keptAt('pending');
  await expect(scene.step()).rejects.toMatchObject({
    code: 'ref-locked',
    kind: 'conflict',
    message: expect.stringContaining(`kept in ${path}`),
    hint: expect.stringContaining(`uwf thread run ${scene.thread}`),
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect((await scene.view()).kept).toBe(path);
  unlock(scene);
  return path;
}

describe('a reply that could not be stored', () => {
  test.each(['step', 'run', 'resume'] as const)('is stored by the next %s, and no agent runs for it', async (verb) => {
    const scene = await createScene();
    const path = await keepOne(scene);
    rmSync(join(scene.dir, 'file'));
    scene.git('gc', '--quiet');
    await scene[verb]();
    const back = verb === 'step' ? 0 : 2;
    expect(scene.runs()).toHaveLength(verb === 'step' ? 1 : 2);
    expect(await scene.read('output.md', back)).toBe('a did it.');
    // As they were when the agent had finished.
    expect(scene.git('show', `${(await scene.view()).head}~${back}^2:file`)).toBe('one');
    expect(scene.told('reply.stored')).toHaveLength(1);
    expect(existsSync(path)).toBe(false);
    await scene.run();
    expect(scene.runs()).toEqual(['a', 'b']);
    expectCleanFsck(scene.dir);
  });

  test('is written down while a lock is waited for, for a process that is killed then, and forgotten once it is stored', async () => {
    const scene = await createScene(undefined, 60_000);
    const log = scene.keptAt('turns');
    const step = scene.step();
    await vi.waitFor(() => expect(readFileSync(log, 'utf8')).toContain('"kind":"arrived"'), { timeout: 30_000 });
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(readFileSync(log, 'utf8')).not.toContain('did it');
    unlock(scene);
    expect(await step).toMatchObject({ role: 'a' });
    expect(existsSync(log)).toBe(false);
    await scene.run();
    expect(scene.runs()).toEqual(['a', 'b']);
  });

  test('stays kept while it cannot be stored', async () => {
    const scene = await createScene();
    for (const verb of ['step', 'run', 'resume'] as const) {
      await expect(scene[verb]()).rejects.toMatchObject({ code: 'ref-locked', isKept: true });
    }
    expect(scene.runs()).toEqual(['a']);
  });

  test('is a question, too, and going on stores it and does not answer it', async () => {
    const scene = await createScene("printf -- '---\\n$status: $SUSPEND\\nreason: Which colour?\\n---\\nI ask.\\n'");
    await keepOne(scene);
    expect(await scene.resume()).toMatchObject({ event: 'thread.suspended', text: 'Which colour?' });
    expect(scene.runs()).toEqual(['a']);
  });

  test('is kept as a fork where the thread has moved on since', async () => {
    const scene = await createScene();
    const path = await keepOne(scene);
    renameSync(path, `${path}.aside`);
    const { head } = await scene.step();
    renameSync(`${path}.aside`, path);
    expect(await scene.step()).toMatchObject({ role: 'b', status: 'ended' });
    const [stored] = scene.told('reply.stored');
    expect(scene.git('show', `refs/threads/${stored?.fork}:output.md`)).toBe('a did it.');
    expect(scene.git('rev-parse', `refs/threads/${stored?.fork}^`)).toBe(scene.git('rev-parse', `${head}^`));
    expect(scene.runs()).toHaveLength(3);
    expectCleanFsck(scene.dir);
  });

  test('is stored once, though what failed came after the ref had moved', async () => {
    const scene = await createScene();
    const path = await keepOne(scene);
    const kept = readFileSync(path);
    await scene.step();
    const refs = scene.git('for-each-ref');
    writeFileSync(path, kept);
    await scene.run();
    expect(scene.git('for-each-ref').split('\n')).toHaveLength(refs.split('\n').length);
    expect(existsSync(path)).toBe(false);
    expect(scene.runs()).toEqual(['a', 'b']);
  });

  test('takes the place of the step that it does again', async () => {
    const scene = await createScene();
    const { engine, thread } = scene;
    writeFileSync(free(scene), '');
    const first = await scene.step();
    rmSync(free(scene));
    await expect(engine.poke(thread, 'Better.')).rejects.toMatchObject({ code: 'ref-locked' });
    unlock(scene);
    await expect(engine.poke(thread, 'Even better.')).rejects.toMatchObject({ code: 'stored-instead' });
    expect(scene.runs()).toEqual(['a', 'a']);
    expect(scene.git('log', '-1', '--format=%P', `refs/threads/${thread}`)).toContain(first.head);
    expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
    expect(scene.runs()).toHaveLength(3);
  });

  test('is not believed where its file is damaged, and nothing runs', async () => {
    const scene = await createScene();
    const path = await keepOne(scene);
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    expect((await scene.view()).kept).toBe(path);
    await expect(scene.run()).rejects.toMatchObject({ code: 'kept-turn-damaged', path });
    expect(scene.runs()).toEqual(['a']);
  });
});

test('an error that passes is waited for, and the reply is stored', async () => {
  const scene = await scenario({ flow });
  const failures = ['EMFILE', 'ENOENT'];
  const fail = (): undefined => {
    const code = failures.shift();
    if (code !== undefined) throw asStorageError(Object.assign(new Error(code), { code }), 'a pack');
  };
  const { role } = await scene.beside(scene.faulty('objects', 'write', fail)).step(scene.thread);
  expect({ role, failures }).toEqual({ role: 'a', failures: [] });
});

test('a reply that cannot be checked is not thrown away', async () => {
  const scene = await scenario({ flow });
  const fail = (call: number): undefined => {
    if (call === 1) throw Object.assign(new Error('EIO: injected'), { code: 'EIO' });
  };
  // The next ref to be read is that of what the reply may link to.
  const { over } = await scene.beside(scene.faulty('refs', 'read', fail)).step(scene.thread);
  expect(over).toMatchObject({ event: 'thread.suspended', text: 'the reply could not be checked: EIO: injected' });
  expect(await scene.read('output.md')).toContain('Done.');
});
