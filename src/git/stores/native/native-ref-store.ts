import { isObjectId, objectIdBytes, parseObjectId } from '../../format/object-id.ts';
import type { ObjectFormat, ObjectId } from '../../format/object-id.ts';
import { BrokenPackedRefs, BrokenRef, InvalidRefName } from '../../format/ref-errors.ts';
import { assertPrefix, isRefName } from '../../format/ref-name.ts';
import { RefMoved } from '../../ref-store.ts';
import type { Ref, RefEdit, RefName, RefStore, WantedRefs } from '../../ref-store.ts';
import { LongLivedGit, type AnswerReader } from '../../process/long-lived-git.ts';
import { brokenPackedRefs, errorOfRefusal } from './ref-refusal.ts';
import { GitEnded, GitFailed, runGit } from '../../process/run-git.ts';
import type { GitPlace } from '../../process/spawn-git.ts';
import { inPlaceOf } from '../../../or-else.ts';

/** As in git (`SYMREF_MAXDEPTH` in refs.c). */
const MAX_SYMBOLIC_DEPTH = 5;
const LOCK_TIMEOUT_MS = 10_000;
/** Names for one run of git; they stay far below the limit of an argument list. */
const MAX_NAMES = 2_000;

/**
 * The refs of a repository with a ref storage that only git supports.
 *
 * Transactions go through one running `git update-ref`, which holds locks only within a transaction. Every read is a run of
 * git. A lock that a killed git leaves belongs to git: it is waited for and named, never broken.
 */
export class NativeRefStore implements RefStore {
  readonly #start: GitPlace;
  readonly #format: ObjectFormat;
  readonly #lockTimeoutMs: number;
  readonly #transactions: LongLivedGit;

  /** @param lockTimeoutMs how long to wait for a lock of another process */
  constructor(start: GitPlace, format: ObjectFormat, lockTimeoutMs: number = LOCK_TIMEOUT_MS) {
    this.#start = start;
    this.#format = format;
    this.#lockTimeoutMs = lockTimeoutMs;
    const settings = [
      ...['core.filesRefLockTimeout', 'core.packedRefsTimeout', 'reftable.lockTimeout'].map(
        (name) => `${name}=${lockTimeoutMs}`,
      ),
      'core.fsync=committed,reference',
      // As in the disk store; a reflog would also need a committer.
      'core.logAllRefUpdates=false',
    ];
    this.#transactions = new LongLivedGit({ ...this.#start, settings, args: ['update-ref', '--stdin'] });
  }

  async read(name: RefName): Promise<ObjectId | undefined> {
    if (!name.startsWith('refs/')) return this.#readPseudoRef(name);
    const { refs, broken } = await listRefs(this.#start, [name]);
    const id = refs.find((ref) => ref.name === name)?.id;
    if (id !== undefined) return id;
    if (broken.has(name)) throw new BrokenRef(name, 'git cannot read it');
    let target = await readSymbolicRef(this.#start, name);
    for (let depth = 0; target !== undefined; depth++) {
      if (depth === MAX_SYMBOLIC_DEPTH) throw new BrokenRef(name, 'its chain of symbolic refs does not end');
      // One after the other, because each names the next.
      target = await readSymbolicRef(this.#start, target);
    }
    return undefined;
  }

  async list(prefix: string, { damaged }: WantedRefs = {}): Promise<Ref[]> {
    assertPrefix(prefix);
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
      if (!(error instanceof GitFailed || error instanceof GitEnded)) throw error;
      const outcome = await this.#explain(error, edits);
      if (outcome === 'not made') await commit();
    }
  }

  /** git removes its locks when it is stopped. Other locks cannot be told from those in use. */
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

  /** Throws the reason why a transaction failed. If git was killed, tells whether the transaction was made. */
  async #explain(failure: GitFailed | GitEnded, edits: readonly RefEdit[]): Promise<'made' | 'not made'> {
    const facts = { path: this.#start.location.commonDir, waitedMs: this.#lockTimeoutMs };
    const said = failure instanceof GitFailed ? failure.said : '';
    const error = errorOfRefusal(said, edits, facts);
    if (error !== undefined) throw error;
    const actual = await this.#readAll(edits.map(({ name }) => name));
    // A killed git says nothing, and may have finished.
    const isKilled = !said.includes('fatal:');
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
    for (let at = 0; at < names.length; at += MAX_NAMES) {
      const some = names.slice(at, at + MAX_NAMES);
      const { refs, broken } = await listRefs(this.#start, some);
      for (const { name, id } of refs) values.set(name, id);
      for (const name of some) if (broken.has(name)) throw new BrokenRef(name, 'git cannot read it');
    }
    return values;
  }

  /** Reads `HEAD` and other pseudo refs, which git does not list. */
  async #readPseudoRef(name: RefName): Promise<ObjectId | undefined> {
    const run = runGit({ ...this.#start, args: ['show-ref', '--verify', '--hash', name] });
    const printed = await run.catch(inPlaceOf(GitFailed, undefined));
    return printed && parseObjectId(printed.toString('latin1').trim());
  }
}

/** Reads `start: ok`, `prepare: ok`, `commit: ok`; git ends after anything else. */
function* readCommitted(): AnswerReader<void> {
  for (let line = ''; line !== 'commit: ok';) line = (yield 'line').toString('latin1');
}

/** Refs as git lists them, sorted by the bytes of their names, and the names of broken refs. */
type ListedRefs = { refs: Ref[]; broken: ReadonlySet<string> };

const brokenRef = /^warning: ignoring (?:broken ref|ref with broken name) (.+)$/;

/**
 * Lists refs by name, or by prefixes that end in `/`, with one run of git. Only names and values are read.
 *
 * A name also lists the refs below it.
 * @throws {BrokenPackedRefs}
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-for-each-ref(1).
 */
async function listRefs(start: GitPlace, patterns: readonly string[]): Promise<ListedRefs> {
  const broken = new Set<string>();
  const run = runGit({
    ...start,
    args: ['for-each-ref', '--format=%(objectname) %(refname)', ...patterns],
    onProgress: (line) => {
      const [, name] = brokenRef.exec(line) ?? [];
      if (name !== undefined) broken.add(name);
    },
  });
  const printed = await run.catch((error: unknown) => {
    throw (error instanceof GitFailed && brokenPackedRefs(error.said)) || error;
  });
  const refs: Ref[] = [];
  for (const line of printed.toString('utf8').split('\n')) {
    const space = line.indexOf(' ');
    const [id, name] = [line.slice(0, space), line.slice(space + 1)];
    if (isObjectId(id) && isRefName(name)) refs.push({ name, id });
  }
  return { refs, broken };
}

/** The target of a symbolic ref; `undefined` if it is not symbolic, or does not exist. Source: git-symbolic-ref(1). */
async function readSymbolicRef(start: GitPlace, name: RefName): Promise<RefName | undefined> {
  const run = runGit({ ...start, args: ['symbolic-ref', '--quiet', '--no-recurse', name] });
  const target = (await run.catch(inPlaceOf(GitFailed, ''))).toString('utf8').trim();
  return isRefName(target) ? target : undefined;
}
