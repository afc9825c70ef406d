import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SnapshotMode } from '../../../src/engine/config/config-schema.ts';
import type { StepEntry } from '../../../src/thread/thread-state.ts';
import { readThread } from '../../../src/thread/thread-chain.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { Verification } from '../../../src/verify/verification.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { createFixture, reply, scripted, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const definition = (mode?: SnapshotMode): ReturnType<typeof workflow> => {
  const made = workflow('w', { coder: statuses('again', 'done') }, 'coder [again] > coder > end');
  if (mode !== undefined && made.roles['coder']) made.roles['coder'].snapshot = mode;
  return made;
};

const threeSteps = scripted({ coder: [reply('again'), reply('again'), reply('done')] });

/** Takes a step after a file was written, as an agent would, and gives the step. */
async function stepWith(fixture: EngineFixture, thread: string, files: Record<string, string>): Promise<StepEntry> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(fixture.dir, name), text);
  await fixture.engine.step(thread);
  const { id, head } = await getThread(fixture.repository, thread);
  const step = (await readThread(fixture.repository, id, head)).steps.at(-1);
  if (!step) throw new Error('no step was stored');
  return step;
}

describe('a step', () => {
  test('keeps the files it left as a commit of its own, on the commit that was checked out', async () => {
    const fixture = await createFixture(threeSteps);
    writeFileSync(join(fixture.dir, 'tracked'), 'one\n');
    fixture.git('add', '-A');
    fixture.git('commit', '-qm', 'code');
    const { thread } = await fixture.engine.start({ definition: definition('on'), prompt: 'p' });
    const step = await stepWith(fixture, thread, { untracked: 'two\n' });
    const snapshot = fixture.git('rev-parse', `${step.commit.id}^2`);
    expect(step.commit.node.workspace).toEqual({
      tree: fixture.git('rev-parse', `${snapshot}^{tree}`),
      commit: snapshot,
    });
    expect(fixture.git('log', '-1', '--format=%P%n%s', snapshot)).toBe(
      `${fixture.git('rev-parse', 'HEAD')}\nfiles of coder, step 1`,
    );
    const who = '--format=%an <%ae> %ad%n%cn <%ce> %cd';
    expect(fixture.git('log', '-1', who, '--date=raw', snapshot)).toBe(
      fixture.git('log', '-1', who, '--date=raw', step.commit.id),
    );
    expect(fixture.git('ls-tree', '--name-only', snapshot).split('\n')).toEqual(['tracked', 'untracked']);
    expect(fixture.git('ls-tree', step.commit.id, 'workspace')).toBe('');
    fixture.git('gc', '--prune=now', '--quiet');
    expect(fixture.git('cat-file', 'blob', `${snapshot}:untracked`)).toBe('two');
    expectCleanFsck(fixture.dir);
    expect(fixture.git('status', '--porcelain')).toBe('?? untracked');
  });

  test('that is to keep changes only, keeps nothing where the files are those of before', async () => {
    const fixture = await createFixture(threeSteps);
    fixture.git('commit', '-qm', 'empty', '--allow-empty');
    const { thread } = await fixture.engine.start({ definition: definition('changed'), prompt: 'p' });
    expect((await stepWith(fixture, thread, {})).commit.node).not.toHaveProperty('workspace');
    expect((await stepWith(fixture, thread, { a: '1' })).commit.node).toHaveProperty('workspace');
    expect((await stepWith(fixture, thread, {})).commit.node).not.toHaveProperty('workspace');
  });

  test('does as the configuration says where its role says nothing', async () => {
    const on = await createFixture({ ...threeSteps, snapshot: { mode: 'on' } });
    const { thread } = await on.engine.start({ definition: definition(), prompt: 'p' });
    const step = await stepWith(on, thread, { a: '1' });
    // On a branch without a commit the snapshot has no parent.
    expect(on.git('log', '-1', '--format=%P', step.commit.node.workspace?.commit ?? '')).toBe('');
    const off = await on.engine.start({ definition: definition('off'), prompt: 'p' });
    expect((await stepWith(on, off.thread, { a: '2' })).commit.node).not.toHaveProperty('workspace');
  });

  test('whose files are too many names the commit only, says so, and is stored', async () => {
    const fixture = await createFixture({ ...threeSteps, snapshot: { mode: 'on', maxBytes: 10 } });
    fixture.git('commit', '-qm', 'empty', '--allow-empty');
    const { thread } = await fixture.engine.start({ definition: definition(), prompt: 'p' });
    const step = await stepWith(fixture, thread, { large: 'more than that' });
    expect(step.commit.node.workspace).toEqual({
      tree: fixture.git('rev-parse', 'HEAD^{tree}'),
      commit: fixture.git('rev-parse', 'HEAD'),
    });
    expect(fixture.git('ls-tree', step.commit.id, 'workspace')).toBe('');
    expect(fixture.events).toContainEqual(
      expect.objectContaining({
        event: 'snapshot.shortened',
        role: 'coder',
        reason: expect.stringMatching(/10 bytes/),
      }),
    );
  });

  test('whose files have names that are no UTF-8 is read and stepped on from', async () => {
    const fixture = await createFixture(threeSteps);
    const { thread } = await fixture.engine.start({ definition: definition('on'), prompt: 'p' });
    writeFileSync(Buffer.concat([Buffer.from(`${fixture.dir}/`), Buffer.from([0xff, 0xfe])]), 'latin\n');
    await stepWith(fixture, thread, {});
    const over = await fixture.engine.run(thread);
    expect(over.event).toBe('thread.ended');
    expect((await fixture.engine.describe(thread)).steps).toBe(3);
  });

  test('whose files could not all be recorded names the others in its node, and is sound', async () => {
    const fixture = await createFixture({ ...threeSteps, snapshot: { mode: 'on', maxBytes: 10 } });
    fixture.git('commit', '-qm', 'empty', '--allow-empty');
    const { thread } = await fixture.engine.start({ definition: definition(), prompt: 'p' });
    const step = await stepWith(fixture, thread, { large: 'more than that', small: '1' });
    const missing = { count: 1, files: [{ path: 'large', reason: expect.stringContaining('has 14 bytes') }] };
    expect(step.commit.node.workspace).toEqual({
      tree: fixture.git('rev-parse', `${step.commit.id}^2^{tree}`),
      commit: fixture.git('rev-parse', `${step.commit.id}^2`),
      missing,
    });
    expect(fixture.git('rev-parse', `${step.commit.id}^2^`)).toBe(fixture.git('rev-parse', 'HEAD'));
    expect(fixture.git('ls-tree', '--name-only', `${step.commit.id}^2`)).toBe('small');
    const told = { event: 'snapshot.shortened', reason: expect.stringMatching(/^large has 14 bytes/), missing };
    expect(fixture.events).toContainEqual(expect.objectContaining(told));
    const { head } = await getThread(fixture.repository, thread);
    const { findings } = await new Verification(fixture.repository).verify(head);
    expect(findings).toEqual([]);
  });

  test('on a branch without a commit says what could not be recorded', async () => {
    const fixture = await createFixture({ ...threeSteps, snapshot: { mode: 'on', timeoutMs: 1 } });
    const { thread } = await fixture.engine.start({ definition: definition(), prompt: 'p' });
    fixture.git('config', 'filter.slow.clean', 'sleep 5; cat');
    const step = await stepWith(fixture, thread, { '.gitattributes': 'a filter=slow\n', a: 'a' });
    expect(step.commit.node).not.toHaveProperty('workspace');
    const told = { event: 'snapshot.shortened', reason: expect.stringContaining('took longer than 0.001 s') };
    expect(fixture.events).toContainEqual(expect.objectContaining(told));
  });
});
