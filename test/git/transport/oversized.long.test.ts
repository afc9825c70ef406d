import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { watchMemory } from '../../helpers/process-memory.ts';
import { writeBlobOf, writeDeltaBomb, writeLargeCommit } from '../../helpers/oversized-objects.ts';
import { startTypeScript } from '../../helpers/run-typescript.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
  runGit,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

/** The size of what is too large; 1,024 in a full run. Memory would show less of it than of twice the limit. */
const mebibytes = Number(process.env['SUITE_HUGE_MIB'] ?? 256);
const isFull = process.env['SUITE_HUGE_MIB'] !== undefined;
const mostBytes = 300 * 1024 * 1024;

function makeThread({ dir, git }: TemporaryRepository, name: string, ...blobs: string[]): void {
  const tree = runGit(dir, ['mktree'], blobs.map((blob, at) => `100644 blob ${blob}\t${at}.md\n`).join(''));
  git('update-ref', `refs/threads/${name}`, git('commit-tree', '-m', name, tree));
}

/** Fetches in a process of its own, and gives what came of it with the memory that took. */
async function fetchFrom(url: string) {
  const local = createTemporaryRepository();
  const script = join(import.meta.dirname, '../../faults/fetch-in-child.ts');
  const { process: child, outcome } = await startTypeScript(script, [local.dir, url], { env: isolatedGitEnvironment });
  const memory = watchMemory(child.pid ?? 0);
  const { stdout, stderr, code } = await outcome;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  // The script prints just this.
  const { told, taken } = JSON.parse(stdout) as { told: string[]; taken: string[] };
  return { local, told, taken, bytes: memory.stop() };
}

describe('what is too large', () => {
  test('a large blob goes to the disk, whatever it is made of', { timeout: 600_000 }, async () => {
    const server = createTemporaryRepository({ bare: true });
    makeThread(server, 'zeros', writeBlobOf('zeros', mebibytes, server));
    if (isFull) makeThread(server, 'noise', writeBlobOf('noise', mebibytes, server));
    const { local, taken, bytes } = await fetchFrom(pathToFileURL(server.dir).href);
    expect(taken).toContain('refs/threads/zeros');
    expect(bytes).toBeLessThan(mostBytes);
    expectCleanFsck(local.dir);
  });

  test('what git would have to hold in memory stays out, and everything else comes', { timeout: 600_000 }, async () => {
    const server = createTemporaryRepository({ bare: true });
    const names = Array.from({ length: 8 }, (_, at) => `good${at}`);
    for (const name of names) makeThread(server, name, runGit(server.dir, ['hash-object', '-w', '--stdin'], name));
    makeThread(server, 'bomb', ...writeDeltaBomb(mebibytes, server));
    // The other side of a folder is a child of this one: it must not hold it either.
    server.git('update-ref', 'refs/threads/commit', writeLargeCommit(mebibytes, server));
    const { local, told, taken, bytes } = await fetchFrom(pathToFileURL(server.dir).href);
    expect(told).toHaveLength(10);
    expect(taken).toEqual(names.map((name) => `refs/threads/${name}`));
    expect(bytes).toBeLessThan(mostBytes);
    expectCleanFsck(local.dir);
  });
});
