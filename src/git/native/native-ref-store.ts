import type { GitEnvironment } from '../git-directory.ts';
import { objectIdBytes, parseObjectId } from '../object-id.ts';
import type { ObjectFormat, ObjectId } from '../object-id.ts';
import { BrokenPackedRefs, BrokenRef, InvalidRefName } from '../ref-errors.ts';
import { isRefName } from '../ref-name.ts';
import { RefMoved } from '../ref-store.ts';
import type { Ref, RefEdit, RefName, RefStore, WantedRefs } from '../ref-store.ts';
import type { RepositoryLocation } from '../repository.ts';
import { listRefs, readSymbolicRef } from './list-refs.ts';
import { LongLivedGit, type AnswerReader } from './long-lived-git.ts';
import { errorOfRefusal } from './ref-refusal.ts';
import { GitFailed, runGit } from './run-git.ts';
import type { GitStart } from './spawn-git.ts';

/** git follows no longer chain (`SYMREF_MAXDEPTH` in refs.c). */
const longestChain = 5;
/** So many names are given to one run of git; their bytes stay far below what an argument list may have. */
const namesPerRun = 2_000;

/**
 * The refs of a repository whose ref storage only git speaks.
 *
 * Changed by transactions of one `git update-ref` that goes on running and holds locks only within a transaction; read
 * by a run of git each. A lock that a killed git leaves is git's: it is waited for and named, never broken.
 */
export class NativeRefStore implements RefStore {
  readonly #start: Omit<GitStart, 'args'>;
  readonly #format: ObjectFormat;
  readonly #lockTimeoutMs: number;
  readonly #transactions: LongLivedGit;

  constructor(location: RepositoryLocation, env: GitEnvironment, format: ObjectFormat, lockTimeoutMs: number) {
    this.#start = { location, env };
    this.#format = format;
    this.#lockTimeoutMs = lockTimeoutMs;
    const settings = [
      ...['core.filesRefLockTimeout', 'core.packedRefsTimeout', 'reftable.lockTimeout'].map(
        (name) => `${name}=${lockTimeoutMs}`,
      ),
      'core.fsync=committed,reference',
      // As with the disk store; a reflog would also want to know who writes.
      'core.logAllRefUpdates=false',
    ];
    const args = [...settings.flatMap((setting) => ['-c', setting]), 'update-ref', '--stdin'];
    this.#transactions = new LongLivedGit({ ...this.#start, args });
  }

  async read(name: RefName): Promise<ObjectId | undefined> {
    if (!name.startsWith('refs/')) return this.#readPseudoRef(name);
    const { refs, broken } = await listRefs(this.#start, [name]);
    const id = refs.find((ref) => ref.name === name)?.id;
    if (id !== undefined) return id;
    if (broken.has(name)) throw new BrokenRef(name, 'git cannot read it');
    let target = await readSymbolicRef(this.#start, name);
    for (let depth = 0; target !== undefined; depth++) {
      if (depth === longestChain) throw new BrokenRef(name, 'its chain of symbolic refs does not end');
      // One after the other: each is the name of the next.
      target = await readSymbolicRef(this.#start, target);
    }
    return undefined;
  }

  async list(prefix: string, { damaged }: WantedRefs = {}): Promise<Ref[]> {
    if (!prefix.endsWith('/')) throw new InvalidRefName(prefix, "a prefix to list ends in '/'");
    if (!isRefName(`${prefix}x`)) throw new InvalidRefName(prefix, 'no ref can be below it');
    try {
      const { refs, broken } = await listRefs(this.#start, [prefix]);
      for (const name of broken) damaged?.(new BrokenRef(name, 'git cannot read it'));
      return refs;
    } catch (error) {
      if (damaged === undefined || !(error instanceof BrokenPackedRefs)) throw error;
      // git reads none of them then.
      damaged(error);
      return [];
    }
  }

  async update(edits: readonly RefEdit[]): Promise<void> {
    if (edits.length === 0) return;
    const names = new Set<RefName>();
    for (const { name } of edits) {
      if (names.has(name)) throw new InvalidRefName(name, 'it is changed twice in one transaction');
      names.add(name);
    }
    const lines = ['start', ...edits.map((edit) => this.#command(edit)), 'prepare', 'commit', ''];
    const commit = (): Promise<void> => this.#transactions.ask(lines.join('\n'), readCommitted, false);
    try {
      await commit();
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      const outcome = await this.#explain(error, edits);
      if (outcome === 'not made') await commit();
    }
  }

  /** git removes the locks of a transaction that it is stopped in; others it does not tell apart from those in use. */
  async removeStaleLocks(): Promise<void> {}

  close(): Promise<void> {
    return this.#transactions.close();
  }

  /** Source: git-update-ref(1). */
  #command({ name, expected, value }: RefEdit): string {
    const nothing = '0'.repeat(2 * objectIdBytes(this.#format));
    if (value === expected) return `verify ${name} ${expected ?? nothing}`;
    return value === null ? `delete ${name} ${expected}` : `update ${name} ${value} ${expected ?? nothing}`;
  }

  /** Throws what kept git from making a transaction; of one that was killed it says whether it had made it. */
  async #explain(failure: GitFailed, edits: readonly RefEdit[]): Promise<'made' | 'not made'> {
    const facts = { path: this.#start.location.commonDir, waitedMs: this.#lockTimeoutMs };
    const error = errorOfRefusal(failure.said, edits, facts);
    if (error !== undefined) throw error;
    const actual = await this.#readAll(edits.map(({ name }) => name));
    // A git that is killed says nothing, and may have been done already.
    const isKilled = !failure.said.includes('fatal:');
    if (isKilled && edits.every(({ name, value }) => (actual.get(name) ?? null) === value)) return 'made';
    for (const { name, expected } of edits) {
      const id = actual.get(name) ?? null;
      if (id !== expected) throw new RefMoved(name, expected, id);
    }
    if (isKilled) return 'not made';
    throw failure;
  }

  /** @throws {BrokenRef} if one of them cannot be read */
  async #readAll(names: readonly RefName[]): Promise<Map<RefName, ObjectId>> {
    const values = new Map<RefName, ObjectId>();
    for (let at = 0; at < names.length; at += namesPerRun) {
      const some = names.slice(at, at + namesPerRun);
      const { refs, broken } = await listRefs(this.#start, some);
      for (const { name, id } of refs) values.set(name, id);
      for (const name of some) if (broken.has(name)) throw new BrokenRef(name, 'git cannot read it');
    }
    return values;
  }

  /** `HEAD` and its like, which git does not list. */
  async #readPseudoRef(name: RefName): Promise<ObjectId | undefined> {
    try {
      const printed = await runGit({ ...this.#start, args: ['show-ref', '--verify', '--hash', name] });
      return parseObjectId(printed.toString('latin1').trim());
    } catch (error) {
      if (error instanceof GitFailed) return undefined;
      throw error;
    }
  }
}

/** `start: ok`, `prepare: ok`, `commit: ok`; of anything else git ends. */
function* readCommitted(): AnswerReader<void> {
  for (let line = ''; line !== 'commit: ok';) line = (yield 'line').toString('latin1');
}
