import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GitEnvironment } from '../git-directory.ts';
import { formatIdentity, identityOf, isAlive, ownIdentity, parseIdentity } from '../process-identity.ts';
import type { RepositoryLocation } from '../repository.ts';
import { foldArguments } from './consolidate-packs.ts';
import { gitEnvironment } from './git-environment.ts';

/** From so many small packs on they are folded: git's own `gc --auto` looks at 50. */
const mostSmallPacks = 16;

/** A pack of fewer bytes is small. What folding makes of small ones soon is not. */
const smallBytes = 1024 * 1024;

/** A holder on another machine cannot be looked at, and no folding takes that long. */
const longestMs = 60 * 60 * 1000;

/** How long git believes a `gc.pid`. Source: `lock_repo_for_gc` in builtin/gc.c. */
const longestGcMs = 12 * 60 * 60 * 1000;

/** What the last folding was: its process, and how many small packs there were. */
type Folding = { holder: string; packs: number; atMs: number };

/**
 * Runs a program, and ends it when stdin ends: when whoever started this has ended, however that came about. Then nobody
 * who looks at the repository afterwards meets a git that is just deleting packs.
 */
const tied = `exec 3<&0
"$@" </dev/null 3<&- & program=$!
{ cat <&3 >/dev/null; trap '' TERM; kill -TERM 0; } &
wait "$program"
kill -KILL 0`;

/** A folding that was started. */
export type StartedFolding = {
  /** Comes to its end with the folding, or after so long if that takes longer; the folding then goes on. */
  settled(longestMs: number): Promise<void>;
};

/**
 * Starts folding the small packs of a repository if there are many.
 *
 * git does it, as in `consolidatePacks`, beside this process, with a lower priority and one thread; it ends when this
 * process ends. One runs at a time; none beside the user's own `git gc`; and one that folded nothing is not
 * started again before there are as many more. What goes wrong there is for whoever runs `uwf gc` to see: a command
 * never fails because of it, and a killed one leaves nothing that blocks.
 * @param stateDir where it is recorded which process folds
 * @returns the folding, or `undefined` if none was started
 */
export function foldInBackground(
  location: RepositoryLocation,
  stateDir: string,
  env: GitEnvironment,
): StartedFolding | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    const packs = countSmallPacks(join(location.commonDir, 'objects', 'pack'));
    const record = join(stateDir, 'folding.json');
    if (packs < mostSmallPacks || !isTimely(readRecord(record), packs) || isCollecting(location)) return undefined;
    return start(location, env, record, packs);
  } catch {
    // A full disk, or one that may only be read: it has to wait.
    return undefined;
  }
}

/** Counts the packs that folding would touch: none that somebody keeps, or whose objects are a remote's to give. */
function countSmallPacks(folder: string): number {
  const names = new Set(readdirSync(folder));
  let count = 0;
  for (const name of names) {
    const base = /^(pack-.+)\.idx$/.exec(name)?.[1];
    if (base === undefined || ['keep', 'promisor', 'mtimes'].some((end) => names.has(`${base}.${end}`))) continue;
    const size = statSync(join(folder, `${base}.pack`), { throwIfNoEntry: false })?.size;
    if (size !== undefined && size < smallBytes) count += 1;
  }
  return count;
}

function isTimely(last: Folding | undefined, packs: number): boolean {
  if (last === undefined) return true;
  const holder = parseIdentity(last.holder);
  const mayRun = holder !== undefined && isAlive(holder) !== false && Date.now() - last.atMs < longestMs;
  const didNothing = packs >= last.packs && packs < last.packs + mostSmallPacks;
  return !mayRun && !didNothing;
}

function isCollecting({ commonDir }: RepositoryLocation): boolean {
  const file = join(commonDir, 'gc.pid');
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || Date.now() - stats.mtimeMs > longestGcMs) return false;
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
  // Without a start time an identity says of its pid alone whether it runs; one of another machine counts as running.
  return Number.isNaN(pid) || isAlive(identityOf(pid)) !== false;
}

function start(
  location: RepositoryLocation,
  env: GitEnvironment,
  record: string,
  packs: number,
): StartedFolding | undefined {
  const write = (holder: string, flag: string): void =>
    writeFileSync(record, `${JSON.stringify({ holder, packs, atMs: Date.now() } satisfies Folding)}\n`, { flag });
  mkdirSync(join(record, '..'), { recursive: true });
  rmSync(record, { force: true });
  // Of two that come this far one goes on. Should both, because the one removed what the other had just made, then git
  // folds twice at once, and the second finds less to fold.
  write(formatIdentity(ownIdentity()), 'wx');
  const words = ['git', '-c', 'core.hooksPath=/dev/null', ...foldArguments];
  const child = spawn('/bin/sh', ['-c', tied, 'sh', ...words], {
    cwd: location.gitDir,
    env: gitEnvironment(location, env),
    stdio: ['pipe', 'ignore', 'ignore'],
    // A group of its own, which it ends as a whole.
    detached: true,
  });
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  });
  child.stdin.on('error', () => {});
  child.unref();
  // The pipe of a child is a socket, and says so by this method.
  (child.stdin as Partial<Socket>).unref?.();
  if (child.pid === undefined) return undefined;
  write(formatIdentity(identityOf(child.pid)), 'w');
  setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  return {
    async settled(longestMs) {
      const waiting = new AbortController();
      await Promise.race([ended, sleep(longestMs, undefined, { signal: waiting.signal }).catch(() => {})]);
      waiting.abort();
    },
  };
}

function readRecord(file: string): Folding | undefined {
  try {
    // Written by `start` alone; half a file is no JSON.
    return JSON.parse(readFileSync(file, 'utf8')) as Folding;
  } catch {
    return undefined;
  }
}
