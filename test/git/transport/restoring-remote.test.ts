import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import { threadRef } from '../../contracts/remote-acts.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { connectTo, type NativeSide } from './remote-scene.ts';

const [a, b, c] = [threadRef('a'), threadRef('b'), threadRef('c')];

type Scene = { server: TemporaryRepository; side: NativeSide; heads: Record<string, ObjectId>; restored: string[] };

/** A remote with threads a and b of which a clone has all, as another clone pushed them. */
async function createScene(refPrefix?: string): Promise<Scene> {
  const server = createTemporaryRepository({ bare: true });
  const plain = await connectTo(server.dir, {}, refPrefix);
  const restored: string[] = [];
  const onRestored = (ref: string): void => void restored.push(ref);
  const remote = await openRemote(plain.repository, 'origin', { env, direction: 'push', onRestored });
  const side = { ...plain, remote };
  const heads: Record<string, ObjectId> = {};
  for (const name of [a, b]) {
    const chain = await writeChain(side.repository, undefined, `${name} 1`, `${name} 2`);
    heads[name] = chain.at(-1) as ObjectId;
    side.git('update-ref', name, heads[name]);
    expect(await side.remote.push({ edits: [{ name, value: heads[name], expected: null }] })).toMatchObject([
      { outcome: 'done' },
    ]);
  }
  return { server, side, heads, restored };
}

/** Removes one object of the remote, as a `git gc --prune=now` does that had listed the refs before a push. */
function lose({ dir }: TemporaryRepository, id: string): void {
  rmSync(join(dir, 'objects', id.slice(0, 2), id.slice(2)));
}

async function newThread(side: NativeSide): Promise<ObjectId> {
  return (await writeChain(side.repository, undefined, 'new')).at(-1) as ObjectId;
}

test.each([undefined, 'refs/heads/uwf/'])(
  'lost commits are sent again by a clone that has them (prefix %s)',
  async (prefix) => {
    const { server, side, heads, restored } = await createScene(prefix);
    lose(server, heads[a]!);
    lose(server, heads[b]!);
    const head = await newThread(side);
    expect(await side.remote.push({ edits: [{ name: c, value: head, expected: null }] })).toEqual([
      { name: c, outcome: 'done' },
    ]);
    const there = (name: string): string => (prefix === undefined ? name : name.replace('refs/', prefix));
    expect(restored.toSorted()).toEqual([there(a), there(b)]);
    for (const [name, id] of [...Object.entries(heads), [c, head]] as const)
      expect(server.git('rev-parse', there(name))).toBe(id);
    expectCleanFsck(server.dir);
  },
);

test('a thread whose own commit is lost goes on', async () => {
  const { server, side, heads } = await createScene();
  lose(server, heads[a]!);
  const next = (await writeChain(side.repository, heads[a], 'next')).at(-1) as ObjectId;
  const edits = [{ name: a, value: next, expected: heads[a]! }];
  expect(await side.remote.push({ edits, isForward: true })).toEqual([{ name: a, outcome: 'done' }]);
  expectCleanFsck(server.dir);
});

test('a clone without the commit changes nothing, and says what to do', async () => {
  const { server, heads } = await createScene();
  lose(server, heads[a]!);
  const other = await connectTo(server.dir);
  const edits = [{ name: c, value: await newThread(other), expected: null }];
  const [result] = await other.remote.push({ edits });
  expect(result).toMatchObject({ name: c, outcome: 'refused' });
  expect(result).toHaveProperty('reason', expect.stringContaining(`git push origin :${a}`));
  expect(server.git('ls-remote', '.', a)).toContain(heads[a]);
});

test('a clone that lacks what the commit leads to changes nothing', async () => {
  const { server, side, heads } = await createScene();
  lose(server, heads[a]!);
  const other = await connectTo(server.dir);
  const commit = execFileSync('git', ['cat-file', 'commit', heads[a]!], { cwd: side.dir });
  execFileSync('git', ['hash-object', '-w', '-t', 'commit', '--stdin'], { cwd: other.dir, input: commit });
  const [result] = await other.remote.push({ edits: [{ name: c, value: await newThread(other), expected: null }] });
  expect(result).toMatchObject({ name: c, outcome: 'refused' });
  expect(server.git('ls-remote', '.', a)).toContain(heads[a]);
});

test('a branch of the code that is lost is left to its owner', async () => {
  const { server, side } = await createScene();
  const head = await newThread(side);
  await side.remote.push({ edits: [{ name: parseRefName('refs/heads/main'), value: head, expected: null }] });
  lose(server, head);
  const next = (await writeChain(side.repository, undefined, 'another')).at(-1) as ObjectId;
  const [result] = await side.remote.push({ edits: [{ name: c, value: next, expected: null }] });
  expect(result).toHaveProperty('reason', expect.stringContaining('refs/heads/main'));
  expect(server.git('ls-remote', '.', 'refs/heads/main')).toContain(head);
});

test('what could not be sent again is named', async () => {
  const { server, side, heads, restored } = await createScene();
  lose(server, heads[a]!);
  const hook = join(server.dir, 'hooks/update');
  // The connection breaks, as it were, between the deletion and the new push.
  writeFileSync(hook, `#!/bin/sh\ncase "$1 $3" in "${a} 0000"*) exit 0;; "${a} "*) exit 1;; esac\n`);
  chmodSync(hook, 0o755);
  const head = await newThread(side);
  const edits = [{ name: c, value: head, expected: null }];
  const [refused] = await side.remote.push({ edits });
  expect(refused).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining(`missing there: ${a}`) as string,
  });
  expect(restored).toEqual([]);
  rmSync(hook);
  const again = [...edits, { name: a, value: heads[a]!, expected: null }];
  expect(await side.remote.push({ edits: again })).toMatchObject([{ outcome: 'done' }, { outcome: 'done' }]);
  expect(server.git('rev-parse', a)).toBe(heads[a]);
  expectCleanFsck(server.dir);
});

test('a lost ref that the remote hides stays lost', async () => {
  const { server, side, heads } = await createScene();
  lose(server, heads[a]!);
  server.git('config', 'transfer.hideRefs', a);
  const [result] = await side.remote.push({ edits: [{ name: c, value: await newThread(side), expected: null }] });
  expect(result).toMatchObject({
    outcome: 'refused',
    reason: expect.stringContaining('missing necessary objects') as string,
  });
});
