import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { runTypeScript } from '../../helpers/run-typescript.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
} from '../../helpers/temporary-repository.ts';

/** How large the large files are; SUITE_HTTP_LARGE_MIB=1024 for a gibibyte. */
const largeMiB = Number(process.env['SUITE_HTTP_LARGE_MIB'] ?? 33);
const MiB = 1024 * 1024;

/** Writes one commit with one file to a ref of its own, without ever holding the file. */
async function importFile(dir: string, ref: string, sizeMiB: number, chunk: () => Uint8Array): Promise<void> {
  const git = spawn('git', ['-c', 'core.compression=1', 'fast-import', '--quiet', '--depth=0'], {
    cwd: dir,
    env: isolatedGitEnvironment,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const write = async (data: string | Uint8Array): Promise<void> => {
    if (!git.stdin.write(data)) await once(git.stdin, 'drain');
  };
  await write(`commit ${ref}\ncommitter A <a@b> 1795262400 +0000\ndata 2\nv\nM 100644 inline file\n`);
  await write(`data ${sizeMiB * MiB}\n`);
  for (let written = 0; written < sizeMiB; written += 1) await write(chunk());
  git.stdin.end('\ndone\n');
  const [code] = (await once(git, 'close')) as [number];
  expect(code).toBe(0);
}

test(
  'files that are too large take no memory, and what leads to none of them is fetched',
  { timeout: 600_000 },
  async () => {
    const server = createTemporaryRepository({ bare: true });
    // What git does to make a pack small is not what is measured.
    server.git('config', 'pack.window', '0');
    const zeros = Buffer.alloc(MiB);
    const noise = randomBytes(MiB);
    await importFile(server.dir, 'refs/threads/bomb', largeMiB, () => zeros);
    await importFile(server.dir, 'refs/threads/noise', largeMiB, () => noise);
    await importFile(server.dir, 'refs/threads/allowed', 32, () => noise);
    await importFile(server.dir, 'refs/threads/small', 1, () => Buffer.alloc(MiB, 'a line of text\n'));
    const http = await startGitHttpServer(dirname(server.dir));
    const local = createTemporaryRepository();
    const script = join(import.meta.dirname, '..', '..', 'faults', 'fetch-over-http.ts');
    const { stdout, stderr, code } = await runTypeScript(script, [local.dir, http.urlOf(basename(server.dir))]);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    const { outcomes, maxRssMiB } = JSON.parse(stdout) as { outcomes: Record<string, string>; maxRssMiB: number };
    expect(outcomes).toEqual({
      'refs/threads/allowed': 'sound',
      'refs/threads/bomb': 'too large',
      'refs/threads/noise': 'too large',
      'refs/threads/small': 'sound',
    });
    expect(maxRssMiB).toBeLessThan(300);
    expect(local.git('for-each-ref', '--format=%(refname)', 'refs/threads/').split('\n')).toHaveLength(2);
    expectCleanFsck(local.dir);
  },
);
