import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { statSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { inPlaceOf, orElse } from '../../or-else.ts';
import {
  BrokenPackedRefs,
  FULL_DISK,
  InvalidRefName,
  isNotThere,
  ObjectMissing,
  RefLocked,
  RefNameConflict,
  StorageFull,
  StorageReadOnly,
  storing,
} from '../format/errors.ts';
import { isObjectId, type ObjectFormat, type ObjectId, objectIdBytes } from '../format/object-id.ts';
import { isRefName } from '../format/refs.ts';
import { GitEnded, GitFailed, GitNotFound, type GitPlace, type GitStart, spawnGit } from '../process/run-git.ts';
import { type RefEdit, RefMoved, type RefName, type RepositoryLocation } from '../repository.ts';
import { isSettled, syncFolder } from '../system/files.ts';
import { refPath } from './disk/read-refs.ts';
import { inTurn } from './publish.ts';

/** A lock is held for moments: one that stays longer was left by a git that somebody killed. */
const LOCK_TIMEOUT_MS = 5_000;
/** A git that has nothing to do any more is not kept. */
const IDLE_MS = 2_000;
/** How often a transaction is tried whose expected values are right, each time a moment too late. */
const MOST_TRIES = 5;

type RefWriterOptions = {
  objects: ObjectFormat;
  refs: 'files' | 'reftable';
  /** How long to wait for a lock of another process; default: 5 s. */
  lockTimeoutMs?: number | undefined;
  /** Reads the value of a ref, to say which one was not as expected. */
  read: (name: RefName) => Promise<ObjectId | undefined>;
};

/**
 * Changes the refs of a repository through one running `git update-ref`, which knows every ref storage and takes git's locks.
 *
 * It runs from the first change until there is nothing more to do, and holds locks only within a transaction, of which one is
 * made at a time. No reflog is made and no hook is run. git syncs the files of refs, and the folders that name them are synced
 * here, before a change is acknowledged. A lock that a killed git left is waited for and named, never broken.
 */
export class RefWriter {
  readonly #place: GitPlace;
  readonly #options: RefWriterOptions;
  readonly #lockTimeoutMs: number;
  readonly #git: LongLivedGit;
  #idle: NodeJS.Timeout | undefined;

  constructor(place: GitPlace, options: RefWriterOptions) {
    this.#place = place;
    this.#options = options;
    this.#lockTimeoutMs = options.lockTimeoutMs ?? LOCK_TIMEOUT_MS;
    const timeouts = ['core.filesRefLockTimeout', 'core.packedRefsTimeout', 'reftable.lockTimeout'];
    const settings = [
      ...timeouts.map((name) => `${name}=${this.#lockTimeoutMs}`),
      'core.fsync=committed,reference',
      'core.fsyncMethod=fsync',
      // A reflog would also need a committer.
      'core.logAllRefUpdates=false',
    ];
    const { commonDir } = place.location;
    // Refs need no work tree, and one that was made for an agent may be gone. Of `GIT_COMMON_DIR` git's own store of refs takes no notice.
    const location = { ...place.location, gitDir: commonDir, workTree: commonDir };
    this.#git = new LongLivedGit({ location, env: place.env, settings, args: ['update-ref', '--stdin'] });
  }

  /** Changes refs as `RefStore.update` does. */
  async update(edits: readonly RefEdit[]): Promise<void> {
    if (edits.length === 0) return;
    // A hook of `git receive-pack` runs before the push is accepted.
    if (this.#place.env['GIT_QUARANTINE_PATH'] !== undefined) throw inQuarantine();
    clearTimeout(this.#idle);
    try {
      // git ends at a refusal, and transactions that wait for its answer would be refused with it.
      await inTurn(this, '', () => this.#transact(edits));
    } finally {
      clearTimeout(this.#idle);
      this.#idle = setTimeout(() => void this.#git.close(), IDLE_MS).unref();
    }
    this.#syncFolders(edits);
  }

  /** Waits for the end of git. */
  close(): Promise<void> {
    clearTimeout(this.#idle);
    return this.#git.close();
  }

  async #transact(edits: readonly RefEdit[]): Promise<void> {
    const lines = ['start', ...edits.map((edit) => this.#command(edit)), 'prepare'];
    for (let tries = 1; ; tries += 1) {
      const packed = this.#packedRefs();
      const isSure = packed === undefined || isSettled(packed);
      try {
        if (isSure) await this.#git.ask([...lines, 'commit', ''].join('\n'), 'commit: ok');
        else await this.#transactVerified(lines, edits);
        return;
      } catch (error) {
        if (!(error instanceof GitFailed || error instanceof GitEnded)) throw error;
        if ((await this.#explain(error, edits, tries === MOST_TRIES)) === 'made') return;
      } finally {
        // What git has read of packed refs that were new is not kept for the next transaction.
        if (!isSure || packed !== this.#packedRefs()) await this.#git.close();
      }
    }
  }

  /**
   * Compares with the expected values once more, while git holds the locks, under which no value changes.
   *
   * git keeps what it read of `packed-refs`, and reads it again only if inode, size or second differ (`stat_validity_check` in
   * its statinfo.c). Packed twice within a second, all three can be as before, and git compares with values that are gone. Where
   * they have been as they are for some seconds, whatever replaces them has another second. Then git is not left waiting with
   * its locks: if it is killed together with this process, they stay.
   */
  async #transactVerified(lines: readonly string[], edits: readonly RefEdit[]): Promise<void> {
    await this.#git.ask([...lines, ''].join('\n'), 'prepare: ok');
    let end = 'abort';
    try {
      await this.#verify(edits);
      end = 'commit';
    } finally {
      await this.#git.ask(`${end}\n`, `${end}: ok`);
    }
  }

  /** When `packed-refs` changed last, in ns; `undefined` where there is none, and for a reftable, which git reads again under its lock. */
  #packedRefs(): bigint | undefined {
    if (this.#options.refs === 'reftable') return undefined;
    const path = join(this.#place.location.commonDir, 'packed-refs');
    return orElse(() => statSync(path, { bigint: true }).mtimeNs, undefined, isNotThere);
  }

  async #verify(edits: readonly RefEdit[]): Promise<void> {
    for (const { name, expected } of edits) {
      const id = (await this.#options.read(name)) ?? null;
      if (id !== expected) throw new RefMoved(name, expected, id);
    }
  }

  /** Source: git-update-ref(1). */
  #command({ name, expected, value }: RefEdit): string {
    const nothing = '0'.repeat(2 * objectIdBytes(this.#options.objects));
    if (value === expected) return `verify ${name} ${expected ?? nothing}`;
    return value === null ? `delete ${name} ${expected}` : `update ${name} ${value} ${expected ?? nothing}`;
  }

  async #isMade(edits: readonly RefEdit[]): Promise<boolean> {
    const values = edits.map((edit) => ({ ...edit, expected: edit.value }));
    return this.#verify(values).then(() => true, inPlaceOf(RefMoved, false));
  }

  /** Throws the reason why a transaction failed, unless it was made by a git that was killed, or may succeed if it is repeated. */
  async #explain(
    failure: GitFailed | GitEnded,
    edits: readonly RefEdit[],
    isLast: boolean,
  ): Promise<'made' | 'repeat'> {
    const said = failure instanceof GitFailed ? failure.said : '';
    const error = this.#refusal(said);
    if (error !== undefined) throw error;
    // A killed git says nothing, and may have finished.
    const isKilled = !said.includes('fatal:');
    if (isKilled && (await this.#isMade(edits))) return 'made';
    await this.#verify(edits);
    if (isLast || !(isKilled || sayings.moved.test(said))) throw failure;
    return 'repeat';
  }

  /** Converts a refusal of git into an error; `undefined` if the refs have to be read to tell. */
  #refusal(said: string): Error | undefined {
    const path = this.#place.location.commonDir;
    // Beside a git that packs refs, git can take a value for the one of a ref that it had before.
    if (sayings.moved.test(said)) return undefined;
    const [, twice] = sayings.twice.exec(said) ?? [];
    if (twice !== undefined) return new InvalidRefName(twice, 'it is changed twice in one transaction');
    const [, wanted = '', existing = ''] = sayings.conflict.exec(said) ?? sayings.together.exec(said) ?? [];
    if (isRefName(wanted)) return new RefNameConflict(wanted, existing);
    const [, missing = ''] = sayings.missing.exec(said) ?? [];
    if (isObjectId(missing)) return new ObjectMissing(missing);
    const packed = brokenPackedRefs(said);
    if (packed !== undefined) return packed;
    const [, lockPath] = sayings.locked.exec(said) ?? [];
    if (lockPath !== undefined) {
      const [, locked = 'packed-refs'] = sayings.lockedRef.exec(said) ?? [];
      return new RefLocked(locked, { lockPath, waitedMs: this.#lockTimeoutMs });
    }
    if (FULL_DISK.test(said)) return new StorageFull(path);
    return sayings.readOnly.test(said) ? new StorageReadOnly(path) : undefined;
  }

  /** git syncs no folder. The order in which new names and removals reach the disk is that of the file system's journal. */
  #syncFolders(edits: readonly RefEdit[]): void {
    const { location } = this.#place;
    const folders = new Set<string>();
    for (const { name, expected, value } of edits) {
      if (value === expected) continue;
      if (this.#options.refs === 'reftable') folders.add(join(location.commonDir, 'reftable'));
      else for (const folder of foldersAbove(location, name)) folders.add(folder);
    }
    // A folder that was removed meanwhile was empty.
    storing(location.commonDir, () => {
      for (const folder of folders) orElse(() => syncFolder(folder), undefined, isNotThere);
    });
  }
}

/** The folders above the file of a ref, any of which can be new, up to the one with `packed-refs`. */
function foldersAbove(location: RepositoryLocation, name: RefName): string[] {
  const root = refPath(location, name).slice(0, -name.length - 1);
  const parts = name.split('/').slice(0, -1);
  return [root, ...parts.map((_, at) => join(root, ...parts.slice(0, at + 1)))];
}

/** What git says when it refuses a transaction. Source: git's refs.c, refs/files-backend.c and refs/packed-backend.c. */
const sayings = {
  moved: /but expected|reference already exists|unable to resolve reference|reference is missing/,
  twice: /multiple updates for (?:ref )?'(.+?)'/,
  conflict: /cannot lock ref '(.+?)': '(.+?)' exists; cannot create/,
  together: /cannot process '(.+?)' and '(.+?)' at the same time/,
  missing: /with nonexistent object ([0-9a-f]+)/,
  packedBroken: /(unterminated|unexpected) line in (.*packed-refs): /,
  lockedRef: /cannot lock ref '(.+?)'/,
  locked: /Unable to create '(.+?\.lock)': File exists/,
  readOnly: /(?:Permission denied|Read-only file system)/,
};

/** The error about a broken file of packed refs; `undefined` if git says nothing about it. */
export function brokenPackedRefs(said: string): BrokenPackedRefs | undefined {
  const [, what, path] = sayings.packedBroken.exec(said) ?? [];
  return what === undefined || path === undefined ? undefined : new BrokenPackedRefs(path, `it has an ${what} line`);
}

/** Source: git-receive-pack(1), "QUARANTINE ENVIRONMENT". */
function inQuarantine(): UwfError {
  return new UwfError(
    'git keeps all that is written here in quarantine until it accepts a push, and refuses changes of refs',
    {
      code: 'in-quarantine',
      kind: 'environment',
      hint: "let the hook 'post-receive' run it, or run it in another repository",
    },
  );
}

/** How much of the end of stderr is kept. */
const MAX_SAID = 8 * 1024;

/** A running git, and what waits for it. */
type Session = {
  child: ChildProcessWithoutNullStreams;
  closed: Promise<void>;
  waiting?: { end: string; resolve: () => void; reject: (error: unknown) => void } | undefined;
  hasEnded?: boolean;
};

/**
 * A running git that does one task after the other.
 *
 * The first task starts it. It ends with this process, because its stdin closes then. While no task is pending it does not keep
 * this process alive. If it has ended, the next task starts another one.
 */
class LongLivedGit {
  readonly #start: GitStart;
  #session: Session | undefined;

  constructor(start: GitStart) {
    this.#start = start;
  }

  /**
   * Gives git a task, once the one before has ended.
   * @param text as git reads it, line ends included
   * @param end the line with which git says that it is done
   * @throws {GitFailed} if git ends instead
   */
  ask(text: string, end: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#session === undefined || this.#session.hasEnded) this.#session = open(this.#start);
      this.#session.waiting = { end, resolve, reject };
      holdProcess(this.#session.child, true);
      this.#session.child.stdin.write(text);
    });
  }

  /** Waits for the pending task and for the end of git. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    if (session === undefined) return;
    holdProcess(session.child, true);
    session.child.stdin.end();
    await session.closed;
  }
}

function open(start: GitStart): Session {
  const child = spawnGit(start);
  let printed = '';
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString('latin1');
    const { waiting } = session;
    if (waiting === undefined || !printed.split('\n').includes(waiting.end)) return;
    printed = '';
    session.waiting = undefined;
    holdProcess(child, false);
    waiting.resolve();
  });
  child.stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString('utf8')).slice(-MAX_SAID)));
  // The end of git is reported by its own event, with the reason.
  child.stdin.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    const end = (error: Error): void => {
      session.hasEnded = true;
      session.waiting?.reject(error);
      resolve();
    };
    child.on('error', (error: NodeJS.ErrnoException) => end(error.code === 'ENOENT' ? new GitNotFound(error) : error));
    child.on('close', (_, signal) =>
      end(signal === null ? new GitFailed(start.args, said) : new GitEnded(start.args, signal)),
    );
  });
  const session: Session = { child, closed };
  return session;
}

/** Sets whether git keeps this process alive. */
function holdProcess(child: ChildProcessWithoutNullStreams, isHeld: boolean): void {
  const { stdin, stdout, stderr } = child;
  // The pipes of a child are sockets; their declared types do not say so.
  const sockets = [stdin, stdout, stderr].filter((pipe) => pipe instanceof Socket);
  for (const handle of [child, ...sockets]) {
    if (isHeld) handle.ref();
    else handle.unref();
  }
}
