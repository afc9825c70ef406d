import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { OpenOptions } from '../../src/git/open-repository.ts';
import type { Repository } from '../../src/git/repository.ts';

/** What every git of a test runs with: nothing of this machine's configuration, a fixed author and a fixed date. */
export const isolatedGitEnvironment: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  LC_ALL: 'C',
  TZ: 'UTC',
  HOME: '/nonexistent',
  // What is configured in a test is the test's own; those of trust say otherwise.
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
  /** Runs git in `dir` and gives its output without the final newline; a failure throws with git's stderr. */
  git(...args: string[]): string;
  /** Opens it as uwf does by default, with the disk stores. */
  open(options?: OpenOptions): Promise<Repository>;
  remove(): void;
};

const leftovers = new Set<string>();
process.once('exit', () => {
  for (const dir of leftovers) rmSync(dir, { recursive: true, force: true });
});

/** Makes an empty folder that goes away with the test that asked for it, or with the process. */
export function createTemporaryFolder(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'uwf-test-')));
  leftovers.add(dir);
  try {
    onTestFinished(() => removeFolder(dir));
  } catch {
    // Outside a test (beforeAll, a script): the process' end removes it.
  }
  return dir;
}

function removeFolder(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  leftovers.delete(dir);
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

/** Makes a repository of its own in a temporary folder; it goes away with the test. */
export function createTemporaryRepository(options: TemporaryRepositoryOptions = {}): TemporaryRepository {
  const dir = createTemporaryFolder();
  const args = ['init', '--quiet', '--initial-branch=main'];
  if (options.bare === true) args.push('--bare');
  if (options.objectFormat !== undefined) args.push(`--object-format=${options.objectFormat}`);
  execFileSync('git', [...args, dir], { env: isolatedGitEnvironment });
  return temporaryRepositoryAt(dir);
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

/** Lines that `git fsck` prints about a sound repository. */
const harmless = /^(dangling |notice: |unreachable |Checking )/;

/** Fails unless `git fsck --strict --full` finds nothing wrong in the repository at `dir`. */
export function expectCleanFsck(dir: string): void {
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
