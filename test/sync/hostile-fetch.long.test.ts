import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startGitHttpServer } from '../helpers/git-http-server.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment,
} from '../helpers/temporary-repository.ts';
import { createHostileRemote } from './hostile-remote.ts';
import { writeBareRepository } from './serve-hostile-remote.ts';

const MIB = 1024 * 1024;
/** All that `uwf fetch` and its children may take, with what the test asks of it. */
const MAX_MEMORY = 300 * MIB;
const isFull = process.env['SUITE_HOSTILE_FULL'] === '1';

type Run = { status: number | null; stdout: string; stderr: string; peakBytes: number };

/** Runs uwf as a process, and watches how much memory it and all that it starts hold at the same time. */
async function runUwf(dir: string, args: readonly string[]): Promise<Run> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/uwf.js'), ...args], {
    cwd: dir,
    env: isolatedGitEnvironment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr, peakBytes] = ['', '', 0];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const watch = setInterval(() => (peakBytes = Math.max(peakBytes, memoryOf(child.pid ?? 0))), 20);
  const status = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearInterval(watch);
  return { status, stdout, stderr, peakBytes };
}

/** What a process and its descendants hold that is not another's too, or a file's. Source: proc(5), smaps_rollup. */
function memoryOf(pid: number): number {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const parent = Number(/^PPid:\s+(\d+)/m.exec(readOr(`/proc/${name}/status`))?.[1]);
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  let bytes = 0;
  const waiting = [pid];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const rollup = readOr(`/proc/${next}/smaps_rollup`);
    for (const [, kib] of rollup.matchAll(/^Anonymous:\s+(\d+) kB/gm)) bytes += Number(kib) * 1024;
    waiting.push(...(children.get(next) ?? []));
  }
  return bytes;
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

describe('fetching from a hostile remote', () => {
  test.each(['file', 'http'])(
    'over %s refuses what is not sound and brings the rest',
    async (transport) => {
      const size = isFull
        ? { largeBytes: 1024 * MIB, garbageRefs: 100_000 }
        : { largeBytes: 101 * MIB, garbageRefs: 2_000 };
      const { remote, reasons } = await createHostileRemote({
        sound: 10,
        isFetched: true,
        endlessRules: isFull || transport === 'file',
        ...size,
      });
      const root = createTemporaryFolder();
      writeBareRepository(remote, join(root, 'hostile.git'));
      const url =
        transport === 'file' ? join(root, 'hostile.git') : (await startGitHttpServer(root)).urlOf('hostile.git');
      const local = createTemporaryRepository();
      const { stdout, stderr, peakBytes } = await runUwf(local.dir, ['fetch', url, '--json']);
      expect(stderr).toBe('');
      const report = JSON.parse(stdout) as { refused: { ref: string; reason: string; more?: number }[] };
      for (const { ref, reason } of report.refused) expect(reason).toMatch(reasons.get(ref) ?? /^$/);
      const count = report.refused.reduce((sum, { more = 0 }) => sum + 1 + more, 0);
      expect(count).toBe(reasons.size);
      const wanted = [...remote.refMap].filter(([name]) => !reasons.has(name) && !name.startsWith('refs/uwf/'));
      const refs = local.git(
        'for-each-ref',
        '--format=%(objectname) %(refname)',
        'refs/threads',
        'refs/history',
        'refs/workflows',
      );
      expect(refs.split('\n').toSorted()).toEqual(wanted.map(([name, id]) => `${id} ${name}`).toSorted());
      expectCleanFsck(local.dir);
      expect(peakBytes).toBeGreaterThan(10 * MIB);
      expect(peakBytes).toBeLessThan(MAX_MEMORY);
      // oxlint-disable-next-line no-console -- the figure is what the full run is for
      if (isFull) console.log(`${transport}: ${Math.round(peakBytes / MIB)} MiB`);
    },
    600_000,
  );
});
