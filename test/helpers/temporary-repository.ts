import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { orElse } from '../../src/or-else.ts';
import { removeFolder } from './remove-folder.ts';
import type { OpenOptions } from '../../src/git/open-repository.ts';
import type { Repository } from '../../src/git/repository.ts';

/** The environment of git in tests: no configuration of this machine, a fixed author and a fixed date. */
export const isolatedGitEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  LC_ALL: 'C',
  TZ: 'UTC',
  HOME: '/nonexistent',
  // A test's configuration is its own, so it is trusted; tests of trust override this.
  UWF_TRUST: 'all',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'A U Thor',
  GIT_AUTHOR_EMAIL: 'author@example.com',
  GIT_AUTHOR_DATE: '2026-11-21T12:00:00Z',
  GIT_COMMITTER_NAME: 'C O Mitter',
  GIT_COMMITTER_EMAIL: 'committer@example.com',
  GIT_COMMITTER_DATE: '2026-11-21T12:00:00Z',
};

export type TemporaryRepositoryOptions = {
  bare?: boolean;
  objectFormat?: 'sha1' | 'sha256';
};

export type TemporaryRepository = {
  /** The top of the work tree, or the bare folder; symbolic links resolved. */
  dir: string;
  /** Runs git in `dir` and returns its output without the final newline; a failure throws with git's stderr. */
  git(...args: string[]): string;
  /** Opens it as uwf does by default, with the disk stores. */
  open(options?: OpenOptions): Promise<Repository>;
  remove(): void;
};

const leftovers = new Set<string>();
process.once('exit', () => {
  for (const dir of leftovers) removeFolder(dir);
});

/** Makes an empty folder, which the end of the test or of the process removes. */
export function createTemporaryFolder(): string {
  const dir = makeFolder();
  try {
    onTestFinished(() => removeFolder(dir));
  } catch {
    // Outside of a test (beforeAll, a script), the end of the process removes it.
  }
  return dir;
}

/** Makes an empty folder, which the end of the process removes. */
export function makeFolder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'uwf-test-')));
  leftovers.add(dir);
  return dir;
}

/** Runs git in a folder under the isolated configuration; `input` goes to its stdin. */
export function runGit(dir: string, args: readonly string[], input?: string | Uint8Array): string {
  const result = spawnSync('git', args, {
    cwd: dir,
    env: isolatedGitEnvironment,
    input: input ?? '',
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  if (result.error !== undefined) throw result.error;
  if (result.status !== 0) {
    throw new Error(`git ${args.join(' ')} exited with ${result.status}: ${result.stderr}`);
  }
  return result.stdout.replace(/\n$/, '');
}

/** Repositories as `git init` makes them, by the options that made them. */
const pristine = new Map<string, string>();

/**
 * Makes a repository in a temporary folder, which the end of the test removes. It is what `git init` makes, but for the samples
 * of hooks: a copy of one that git made for this process, because a process of git costs several times as much.
 */
export function createTemporaryRepository(options: TemporaryRepositoryOptions = {}): TemporaryRepository {
  const args = ['init', '--quiet', '--initial-branch=main'];
  if (options.bare === true) args.push('--bare');
  if (options.objectFormat !== undefined) args.push(`--object-format=${options.objectFormat}`);
  const key = args.join(' ');
  const template = pristine.get(key) ?? makePristine(args);
  pristine.set(key, template);
  const dir = createTemporaryFolder();
  cpSync(template, dir, { recursive: true });
  return temporaryRepositoryAt(dir);
}

function makePristine(args: readonly string[]): string {
  const dir = makeFolder();
  execFileSync('git', [...args, dir], { env: isolatedGitEnvironment });
  const hooks = join(dir, args.includes('--bare') ? 'hooks' : '.git/hooks');
  rmSync(hooks, { recursive: true, force: true });
  mkdirSync(hooks);
  return dir;
}

/** The repository in a temporary folder. */
export function temporaryRepositoryAt(dir: string): TemporaryRepository {
  return {
    dir,
    git: (...gitArgs) => runGit(dir, gitArgs),
    open: async (openOptions) => {
      const { openRepository } = await import('../../src/git/open-repository.ts');
      return openRepository(dir, openOptions);
    },
    remove: () => removeFolder(dir),
  };
}

/** Lines that `git fsck` prints for a sound repository. */
const harmless = /^(dangling |notice: |unreachable |Checking )/;

/**
 * Waits for the repacking that a uwf has left to git when it ended, failed or was killed: it writes temporary packs, and
 * `git fsck` beside it misses the packs that it joins. It blocks, so that synchronous
 * checks can call it.
 *
 * @param dir the repository's folder, or its `.git`
 */
export function waitForRepacking(dir: string): void {
  const isRepacking = (pid: string): boolean => {
    const read = (name: string): string => orElse(() => readFileSync(`/proc/${pid}/${name}`, 'utf8'), '');
    return /^git\0.*\b(?:repack|pack-objects)\0/.test(read('cmdline')) && read('environ').includes(dir);
  };
  const isLeft = (): boolean =>
    orElse(() => readdirSync('/proc'), []).some((pid) => /^\d+$/.test(pid) && isRepacking(pid));
  const deadlineMs = performance.now() + 30_000;
  while (isLeft() && performance.now() < deadlineMs) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
}

/** Fails if `git fsck --strict --full` finds a fault in the repository at `dir`. */
export function expectCleanFsck(dir: string): void {
  waitForRepacking(dir);
  const result = spawnSync('git', ['fsck', '--strict', '--full', '--no-progress'], {
    cwd: dir,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
  });
  const complaints = `${result.stdout}${result.stderr}`
    .split('\n')
    .filter((line) => line !== '' && !harmless.test(line));
  if (result.status !== 0 || complaints.length > 0) {
    throw new Error(`git fsck exited with ${result.status}: ${complaints.join('\n')}`);
  }
}
