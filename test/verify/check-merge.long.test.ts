import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { planRedaction } from '../../src/engine/redact/redact-thread.ts';
import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { readBranchEnd } from '../../src/thread/step-view.ts';
import { readChain } from '../../src/thread/thread-chain.ts';
import { type CommitOf, readPlace } from '../../src/thread/thread-state.ts';
import type { MergeRecord } from '../../src/schema/built-in/thread-step.ts';
import { checkMerge, repeatMergeOf } from '../../src/verify/check-block.ts';
import { ThreadProgress } from '../../src/verify/thread-progress.ts';
import { fsck, verifyThread } from '../../src/verify/verify-threads.ts';
import { runCommand } from '../helpers/cli.ts';
import { runGit } from '../helpers/temporary-repository.ts';
import { runMerge, SECRET } from './blocks/merge-fixture.ts';

test.each([
  { keys: ['b', 'a'], status: 'joined' },
  { keys: ['a', 'b', 'c'], status: 'conflict' },
])('a block that merged $keys verifies, and is pushed without code that the remote lacks', async ({ keys, status }) => {
  const { thread, engine, repository, git, dir } = await runMerge(keys);
  const { head } = await engine.describe(thread);
  expect(git('log', '--first-parent', '--format=%s', head)).toContain(`work: work: ${status}`);
  for await (const { findings } of fsck({ repository })) expect(findings).toEqual([]);
  const hub = join(dir, 'hub.git');
  runGit(dir, ['init', '-q', '--bare', hub]);
  git('push', '-q', hub, 'HEAD:refs/heads/main');
  const pushed = await runCommand(['push', hub, thread, '--allow-secrets'], { cwd: dir });
  expect(pushed).toMatchObject({ code: 0, stderr: expect.not.stringContaining('held') });
  const there = join(dir, 'there');
  runGit(dir, ['clone', '-q', hub, there]);
  expect(await runCommand(['fetch', hub, thread], { cwd: there })).toMatchObject({ code: 0 });
  expect(await runCommand(['thread', 'verify', thread], { cwd: there })).toMatchObject({ code: 0 });
});

describe('a recorded merge', () => {
  let fixture: Awaited<ReturnType<typeof runMerge>>;
  let step: CommitOf<'step'>;
  const env = { PATH: process.env['PATH'] };
  const again = (node: object): ReturnType<typeof repeatMergeOf> =>
    repeatMergeOf(fixture.repository, env, { ...step, node: { ...step.node, ...node } });

  beforeAll(async () => {
    fixture = await runMerge(['a', 'b', 'c']);
    const { head } = await fixture.engine.describe(fixture.thread);
    for await (const commit of readChain(fixture.repository, head)) {
      if (commit.kind === 'step' && commit.node.role === 'work') step = commit;
    }
  }, 60_000);

  test('is repeated by verification, and told where it cannot be', async () => {
    const { repository, thread } = fixture;
    expect(await verifyThread({ repository, env }, thread)).toMatchObject({ findings: [], unrepeated: [] });
    const without = { PATH: '/nowhere' };
    const { sound, unrepeated } = await verifyThread({ repository, env: without }, thread);
    expect(sound).toBe(true);
    expect(unrepeated).toEqual([{ commit: step.id, why: expect.stringContaining('git') }]);
  });

  test('is found out if its tree or its conflicts are others', async () => {
    const { workspace, meta, merge } = step.node;
    const tree = fixture.git('rev-parse', 'HEAD^{tree}');
    expect(await again({})).toEqual({});
    expect(await again({ workspace: { ...workspace, tree } })).toEqual({ fault: expect.stringContaining(tree) });
    expect(await again({ meta: { ...meta, conflicts: [] } })).toEqual({ fault: expect.stringContaining('conflicts') });
    expect(await again({ workspace: { ...workspace, tree }, merge: { ...merge, git: '9.9.9' } })).toEqual({
      unchecked: expect.stringContaining('git 9.9.9 made it'),
    });
    expect(await again({ merge: { ...merge, isRepeatable: false } })).toEqual({
      unchecked: expect.stringContaining('driver'),
    });
    const branches = [{ key: 'a', commit: 'a'.repeat(40) }];
    await expect(again({ merge: { ...merge, branches } })).rejects.toMatchObject({ kind: 'data' });
  });

  test.each<[string, (merge: MergeRecord) => object, RegExp]>([
    [
      'none',
      () => ({ merge: undefined, meta: { ...step.node.meta, conflicts: undefined } }),
      /says nothing of the merge/,
    ],
    [
      'another base',
      ({ branches, ...merge }) => ({ merge: { ...merge, branches, base: branches[0]!.commit } }),
      /was merged into/,
    ],
    ['another order', (merge) => ({ merge: { ...merge, branches: merge.branches.toReversed() } }), /newest files/],
    ['a branch less', (merge) => ({ merge: { ...merge, branches: merge.branches.slice(1) } }), /newest files/],
    ['no files', () => ({ workspace: undefined }), /does not have the files/],
    ['no conflicts', () => ({ meta: { ...step.node.meta, conflicts: undefined } }), /not 'conflict' exactly/],
    ['no status of its own', () => ({ meta: { ...step.node.meta, $status: 'joined' } }), /not 'conflict' exactly/],
  ])('is checked by itself: %s', async (_, change, wanted) => {
    const { repository } = fixture;
    const [before = step.id] = step.commit.parents;
    const place = await readPlace(repository, before);
    const base = { before: ThreadProgress.upTo(place), isJoined: true };
    const ended = await Promise.all(
      step.commit.parents.slice(1, 4).map(async (commit, at) => {
        const key = (step.node.meta['order'] as string[])[at] ?? '';
        return { key, commit, ...(await readBranchEnd(repository, commit, 3)) };
      }),
    );
    const { merge } = step.node;
    const forged = { ...step, node: { ...step.node, ...change(merge!) } };
    const block = { merge: { order: 'key' as const } };
    expect(await checkMerge(repository, step, block, { ...base, ended })).toEqual([]);
    expect(await checkMerge(repository, forged, block, { ...base, ended })).toEqual([expect.stringMatching(wanted)]);
  });
});

test('a secret in the files that branches begin with is taken out of their files, their bases and their merge', async () => {
  const { thread, repository, git } = await runMerge(['a', 'b']);
  const rules = [{ name: 'acme-token', pattern: 'acme_[a-z0-9]{32}' }];
  const redactor = createRedactor({ key: new Uint8Array(32), known: [], rules });
  const commitsWithIt = async (id: string): Promise<string> => {
    const { head } = await getThread(repository, id);
    return git('log', '-p', '--root', '-m', '--text', '-S', SECRET, '--format=%H', head);
  };
  expect(await commitsWithIt(thread)).not.toBe('');
  const { apply, threads } = await planRedaction(repository, redactor, thread);
  await apply();
  for await (const { findings } of fsck({ repository })) expect(findings).toEqual([]);
  const now = threads.find((each) => each.thread === thread)?.now;
  expect(await commitsWithIt(now ?? '')).toBe('');
});
