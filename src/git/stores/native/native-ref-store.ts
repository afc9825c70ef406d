import { isObjectId, parseObjectId } from '../../format/object-id.ts';
import type { ObjectFormat, ObjectId } from '../../format/object-id.ts';
import { BrokenPackedRefs, BrokenRef } from '../../format/errors.ts';
import { assertPrefix, isRefName } from '../../format/refs.ts';
import type { Ref, RefEdit, RefName, RefStore, RepositoryLocation, WantedRefs } from '../../repository.ts';
import { GitFailed, GitNotFound, type GitPlace, runGit } from '../../process/run-git.ts';
import { inPlaceOf } from '../../../or-else.ts';
import { assertOrdinaryFormat, type RepositoryFormat } from '../../repository/repository-config.ts';
import type { DiskStoreOptions, DiskStores } from '../disk/open-disk-stores.ts';
import { brokenPackedRefs, RefWriter } from '../ref-writer.ts';

/** As in git (`SYMREF_MAXDEPTH` in refs.c). */
const MAX_SYMBOLIC_DEPTH = 5;

/** The refs of a repository with a ref storage that only git supports: every read is a run of git. */
export class NativeRefStore implements RefStore {
  readonly #start: GitPlace;
  readonly #writer: RefWriter;

  constructor(start: GitPlace, objects: ObjectFormat, lockTimeoutMs?: number) {
    this.#start = start;
    const read: RefStore['read'] = (name) => this.read(name);
    this.#writer = new RefWriter(start, { objects, refs: 'reftable', lockTimeoutMs, read });
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

  update(edits: readonly RefEdit[]): Promise<void> {
    return this.#writer.update(edits);
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  /** Reads `HEAD` and other pseudo refs, which git does not list. */
  async #readPseudoRef(name: RefName): Promise<ObjectId | undefined> {
    const run = runGit({ ...this.#start, args: ['show-ref', '--verify', '--hash', name] });
    const printed = await run.catch(inPlaceOf(GitFailed, undefined));
    return printed && parseObjectId(printed.toString('latin1').trim());
  }
}

/**
 * Puts refs that git reads in the place of uwf's own.
 * @throws {UwfError} `unsupported-repository` if there is no git that supports the format
 */
export async function withNativeRefs(
  { objects }: DiskStores,
  location: RepositoryLocation,
  format: RepositoryFormat,
  { env = {}, lockTimeoutMs }: DiskStoreOptions,
): Promise<DiskStores> {
  const git = { location, env };
  try {
    await runGit({ ...git, args: ['rev-parse', '--git-dir'] });
  } catch (error) {
    if (!(error instanceof GitNotFound) && !(error instanceof GitFailed)) throw error;
    assertOrdinaryFormat(format, location.commonDir, `have a git on the PATH that knows it (${error.message})`);
    throw error;
  }
  const refs = new NativeRefStore(git, format.objects, lockTimeoutMs);
  return { objects, refs, close: async () => void (await Promise.all([objects.close(), refs.close()])) };
}

/** Refs as git lists them, sorted by the bytes of their names, and the names of broken refs. */
type ListedRefs = { refs: Ref[]; broken: ReadonlySet<string> };

const brokenRef = /^warning: ignoring (?:broken ref|ref with broken name) (.+)$/;

/**
 * Lists refs by name, or by prefixes that end in `/`, with one run of git. Only names and values are read.
 *
 * A name also lists the refs below it.
 * @throws {BrokenPackedRefs}
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
