import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { PushEdit, RemoteRef } from '../../../src/git/transport/remote.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { connectTo, type NativeSide } from './remote-scene.ts';

const DAYS = ['2026-10-01', '2026-10-02', '2026-10-03'];

type Scene = { server: TemporaryRepository; side: NativeSide; head: ObjectId; there: RemoteRef[] };

/** A remote with many refs, on three days: 150, 120 and 5. */
async function createScene(prefix?: string): Promise<Scene> {
  const server = createTemporaryRepository({ bare: true });
  const side = await connectTo(server.dir, {}, prefix);
  const head = (await writeChain(side.repository, undefined, 'one')).at(-1) as ObjectId;
  await side.remote.push({ edits: [{ name: parseRefName('refs/threads/a'), value: head, expected: null }] });
  const names = DAYS.flatMap((day, at) => Array.from({ length: [150, 120, 5][at]! }, (_, n) => `${day}/${n + 1000}`));
  const folder = prefix ?? 'refs/';
  const input = names.map((name) => `create ${folder}history/${name} ${head}\n`).join('');
  execFileSync('git', ['update-ref', '--stdin'], { cwd: server.dir, input });
  return { server, side, head, there: await side.remote.list(['refs/history/*']) };
}

const deletionOf = ({ name, id }: RemoteRef): PushEdit => ({ name: parseRefName(name), value: null, expected: id });

test.each([undefined, 'refs/heads/uwf/'])(
  'many refs of a folder are deleted, and those that stay stay (prefix %s)',
  async (prefix) => {
    const scene = await createScene(prefix);
    const staying = [scene.there[3]!, scene.there[200]!];
    const edits = scene.there.filter((ref) => !staying.includes(ref)).map(deletionOf);
    const results = await scene.side.remote.push({ edits, there: scene.there });
    expect(results.map(({ name }) => name)).toEqual(edits.map(({ name }) => name));
    expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['done']));
    expect(await scene.side.remote.list(['refs/history/*'])).toEqual(staying);
    expect(await scene.side.remote.list(['refs/threads/*'])).toHaveLength(1);
    expectCleanFsck(scene.server.dir);
  },
);

test('a host that has no atomic pushes deletes them, too', async () => {
  const { server, side, there } = await createScene();
  server.git('config', 'receive.advertiseAtomic', 'false');
  const results = await side.remote.push({ edits: there.slice(0, 150).map(deletionOf), there });
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['done']));
  expect(await side.remote.list(['refs/history/2026-10-01/*'])).toEqual([]);
});

test('a ref that came meanwhile, or has moved, is not deleted, and nor are the others of the push', async () => {
  for (const what of ['came', 'moved']) {
    const { server, side, head, there } = await createScene();
    const [next] = (await writeChain(side.repository, head, 'two')) as [ObjectId];
    await side.remote.push({ edits: [{ name: parseRefName('refs/threads/a'), value: next }] });
    const name = what === 'came' ? 'refs/history/2026-10-01/9999' : there[7]!.name;
    server.git('update-ref', name, next);
    const results = await side.remote.push({ edits: there.slice(0, 150).map(deletionOf), there });
    expect(results.every(({ outcome }) => outcome === 'undone' || outcome === 'moved')).toBe(true);
    expect(await side.remote.list(['refs/history/2026-10-01/*'])).toHaveLength(what === 'came' ? 151 : 150);
    expect(server.git('rev-parse', name)).toBe(next);
  }
});

test('refs that are gone already count as deleted', async () => {
  const { server, side, there } = await createScene();
  server.git('update-ref', '-d', there[0]!.name);
  const results = await side.remote.push({ edits: there.slice(0, 150).map(deletionOf), there });
  expect(results[0]).toEqual({ name: there[0]!.name, outcome: 'unchanged' });
  expect(results.slice(1).every(({ outcome }) => outcome === 'done')).toBe(true);
  expect(await side.remote.list(['refs/history/2026-10-01/*'])).toEqual([]);
});

test('deletions of a caller that has not listed the refs leave the other refs of their folder', async () => {
  const { side, there } = await createScene();
  const results = await side.remote.push({ edits: there.slice(0, 120).map(deletionOf) });
  expect(new Set(results.map(({ outcome }) => outcome))).toEqual(new Set(['done']));
  expect(await side.remote.list(['refs/history/2026-10-01/*'])).toEqual(there.slice(120, 150));
});
