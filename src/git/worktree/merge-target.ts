import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, UwfError } from '../../errors.ts';
import { parseJson } from '../../json.ts';
import { orElse } from '../../or-else.ts';
import { isString, objectOf, stringThat } from '../../shape.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { pathAsText } from '../format/paths.ts';
import { isRefName } from '../format/refs.ts';
import { GitFailed, type GitPlace, runGit } from '../process/run-git.ts';
import type { GitEnvironment, RefName, Repository, RepositoryLocation } from '../repository.ts';
import { readIfThere } from '../repository/git-directory.ts';
import { findOperation } from '../repository/work-trees.ts';
import { readHead } from './snapshot.ts';

/** The work tree that a merge goes into, as it was before. */
export type MergeTarget = {
  location: RepositoryLocation & { workTree: string };
  /** The branch that is checked out; `undefined` for a detached `HEAD`. */
  branch: RefName | undefined;
  head: ObjectId;
};

/** `HEAD`, or the branch that is checked out, is not where the merge began. */
export class TargetMoved extends UwfError {
  constructor({ branch, head }: Pick<MergeTarget, 'branch' | 'head'>) {
    super(`${branch ?? 'HEAD'} is not at ${head} any more: it moved during the merge, and nothing was changed`, {
      code: 'target-moved',
      kind: 'conflict',
      hint: 'look at the branch and repeat',
      facts: { branch, head },
    });
  }
}

/**
 * Reads what is checked out in a work tree that something is to be merged into, after finishing a merge whose process was killed.
 * @throws {UwfError} `no-work-tree` in a bare repository, `unborn-branch` if the branch has no commit, `operation-in-progress`
 *   if a merge or a rebase is not finished, `dirty-work-tree` if tracked files or the index differ from `HEAD`
 */
export async function readMergeTarget(repository: Repository, env: GitEnvironment): Promise<MergeTarget> {
  const { location } = repository;
  const workTree = location?.workTree;
  if (location === undefined || workTree === undefined) {
    throw new UwfError('this repository has no work tree, so there is nothing to merge into', {
      code: 'no-work-tree',
      kind: 'usage',
      hint: "name a work tree with -C; '--branch <name>' only makes a branch",
    });
  }
  const operation = findOperation(location)?.name;
  if (operation !== undefined) {
    throw new UwfError(`a ${operation} is not finished in ${workTree}`, {
      code: 'operation-in-progress',
      kind: 'data',
      hint: `git goes on with 'git ${operation} --continue', or back with 'git ${operation} --abort'`,
      facts: { operation },
    });
  }
  const branch = branchAt(location);
  const before = await readHead(repository, location);
  if (before !== undefined) await finishMove({ location, env }, before);
  const head = await readHead(repository, location);
  if (head === undefined) {
    throw new UwfError(`${branch ?? 'HEAD'} has no commit yet, so there is nothing to merge into`, {
      code: 'unborn-branch',
      kind: 'data',
      hint: "check out a branch with commits, or make one of the thread's code with '--branch <name>'",
    });
  }
  const target = { location: { ...location, workTree }, branch, head };
  const changed = await findTrackedChanges(target, env);
  if (changed.length > 0) throw dirtyWorkTree(workTree, changed);
  return target;
}

/** @throws {TargetMoved} if `HEAD` names another branch, or the branch another commit */
export async function assertUnmoved(repository: Repository, target: MergeTarget): Promise<void> {
  const { location, branch, head } = target;
  if (branchAt(location) !== branch || (await readHead(repository, location)) !== head) throw new TargetMoved(target);
}

function dirtyWorkTree(workTree: string, changed: readonly string[]): UwfError {
  const [first = ''] = changed;
  const others = changed.length > 1 ? ` and ${changed.length - 1} more` : '';
  return new UwfError(`${workTree} has changes that are not committed: ${first}${others}`, {
    code: 'dirty-work-tree',
    kind: 'data',
    hint: "commit them, or put them away with 'git stash'; nothing was changed",
    facts: { paths: changed },
  });
}

function branchAt({ gitDir }: RepositoryLocation): RefName | undefined {
  const name = /^ref:\s*(.*)$/m.exec(readIfThere(join(gitDir, 'HEAD')) ?? '')?.[1];
  return name !== undefined && isRefName(name) ? name : undefined;
}

/**
 * Lists tracked files and index entries that differ from `HEAD`. The checked-out commit of a submodule does not count: git
 * leaves it where it is when a merge changes it.
 * Source: git-status(1), "Porcelain Format Version 2".
 */
async function findTrackedChanges({ location }: MergeTarget, env: GitEnvironment): Promise<string[]> {
  const args = ['status', '--porcelain=v2', '-z', '--untracked-files=no', '--ignore-submodules=dirty', '--no-renames'];
  const lines = (await runGit({ location, env, args })).toString('latin1').split('\0');
  return lines.flatMap((line) => {
    const [kind, state, submodule, ...rest] = line.split(' ');
    if (kind !== '1' && kind !== 'u') return [];
    if (kind === '1' && state?.startsWith('.') && submodule?.startsWith('S')) return [];
    // Five fields follow in a line of kind 1, and seven in one of kind u.
    return [pathAsText(rest.slice(kind === '1' ? 5 : 7).join(' '))];
  });
}

/** git's own words, as the reason why nothing was changed. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error;
  // Its hints are about a folder that the user does not see.
  const said = error.said.replaceAll(/^hint:.*\n/gm, '').trim();
  return new UwfError(`git does not merge it: ${said || messageOf(error)}`, {
    code: 'merge-refused',
    kind: 'data',
    hint: 'nothing was changed; put right what git names and repeat',
    cause: error,
  });
}

/**
 * Moves a branch and its work tree to another commit, as a fast-forward of git does. `ORIG_HEAD` is where it was.
 *
 * First the files are written, which git does for all or none; then the branch moves if it still has the value that was read.
 * If not, the files are put back. If the process is killed in between, the next merge finishes the move.
 * @param reason for the reflog
 * @throws {TargetMoved} if the branch moved, or another one was checked out; nothing is changed then
 * @throws {UwfError} `merge-refused` if an untracked file would be overwritten; nothing is changed then
 */
export async function moveTarget(
  repository: Repository,
  env: GitEnvironment,
  target: MergeTarget,
  to: ObjectId,
  reason: string,
): Promise<void> {
  const { location, head } = target;
  const git = (...args: string[]): Promise<Buffer> => runGit({ location, env, args });
  const write = (before: ObjectId, after: ObjectId): Promise<Buffer> =>
    git('read-tree', '-m', '-u', '--no-recurse-submodules', before, after);
  // Files whose times alone have changed; the exit code tells of files that differ.
  await git('update-index', '-q', '--refresh').catch(ignoreFailure);
  await assertUnmoved(repository, target);
  noteMove(location, { head, to, reason });
  await write(head, to).catch((error: unknown) => {
    forgetMove(location);
    throw asRefusal(error);
  });
  try {
    await assertUnmoved(repository, target);
    await git('update-ref', '-m', reason, 'HEAD', to, head);
  } catch (error) {
    await write(to, head);
    forgetMove(location);
    if (error instanceof GitFailed) await assertUnmoved(repository, target);
    throw error instanceof TargetMoved ? error : asRefusal(error);
  }
  forgetMove(location);
  await git('update-ref', 'ORIG_HEAD', head);
}

function ignoreFailure(error: unknown): void {
  if (!(error instanceof GitFailed)) throw error;
}

/** Files that a commit has and another has not, and the other way round; paths in Latin-1. */
type AddedFiles = { added: string[]; removed: ReadonlySet<string> };

/** @param git runs git where it has the objects */
export async function addedFiles(
  git: (args: readonly string[]) => Promise<Buffer>,
  from: ObjectId,
  to: ObjectId,
): Promise<AddedFiles> {
  const args = ['diff-tree', '-r', '-z', '--name-status', '--no-renames', '--diff-filter=AD', from, to];
  const fields = (await git(args)).toString('latin1').split('\0');
  const added: string[] = [];
  const removed = new Set<string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const path = fields[at + 1] ?? '';
    if (fields[at] === 'A') added.push(path);
    else removed.add(path);
  }
  return { added, removed };
}

/**
 * Checks that no file of the user's is where a tracked one would be written. git refuses to overwrite untracked files, but
 * overwrites ignored ones: a file with passwords, or a folder of packages where a link to another one comes.
 * @throws {UwfError} `file-in-the-way`
 */
export function assertNoneInTheWay({ location: { workTree } }: MergeTarget, { added, removed }: AddedFiles): void {
  const top = Buffer.from(`${workTree}/`);
  // A file system may take two cases of a name for one.
  const tracked = new Set([...removed].map((path) => path.toLowerCase()));
  const at = (path: string): Buffer => Buffer.concat([top, Buffer.from(path, 'latin1')]);
  const isOwn = (path: string): boolean => {
    const found = orElse(() => lstatSync(at(path)), undefined);
    return found !== undefined && !found.isDirectory() && !tracked.has(path.toLowerCase());
  };
  const hasOwn = (path: string): boolean =>
    orElse(() => readdirSync(at(path), { encoding: 'buffer', withFileTypes: true }), []).some((entry) => {
      const inside = `${path}/${entry.name.toString('latin1')}`;
      return entry.isDirectory() ? hasOwn(inside) : isOwn(inside);
    });
  const found = added.flatMap((path) => prefixesOf(path).find(isOwn) ?? (hasOwn(path) ? [path] : []));
  if (found.length === 0) return;
  const paths = [...new Set(found)].map(pathAsText);
  throw new UwfError(`files that git does not track would be overwritten: ${paths.slice(0, 5).join(', ')}`, {
    code: 'file-in-the-way',
    kind: 'data',
    hint: 'move them away and repeat; nothing was changed',
    facts: { paths },
  });
}

function prefixesOf(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** A move of a branch with its work tree that has begun: its files are written before the branch moves. */
type Move = { head: ObjectId; to: ObjectId; reason: string };

const isMove = objectOf<Move>({ head: stringThat(isObjectId), to: stringThat(isObjectId), reason: isString });

/** Notes a move, so that {@link finishMove} can finish it after a kill. File system errors come through as they are. */
export function noteMove({ gitDir }: Pick<RepositoryLocation, 'gitDir'>, move: Move): void {
  mkdirSync(join(gitDir, 'uwf'), { recursive: true });
  writeFileSync(noteAt({ gitDir }), `${JSON.stringify(move)}\n`);
}

function forgetMove(location: Pick<RepositoryLocation, 'gitDir'>): void {
  rmSync(noteAt(location), { force: true });
}

/**
 * Finishes a move whose process was killed after it had written the files and before it moved the branch: all files would pass
 * for changes of the user that are not committed. Leaves everything as it is if anything changed since.
 */
async function finishMove(git: GitPlace, head: ObjectId): Promise<void> {
  const move = parseJson(readIfThere(noteAt(git.location)) ?? '');
  if (!isMove(move)) return;
  const isSame = async (...args: string[]): Promise<boolean> =>
    runGit({ ...git, args }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof GitFailed) return false;
        throw error;
      },
    );
  const isWritten =
    move.head === head &&
    (await isSame('diff-index', '--quiet', '--ignore-submodules=all', '--cached', move.to)) &&
    (await isSame('diff-files', '--quiet', '--ignore-submodules=all'));
  if (isWritten) await runGit({ ...git, args: ['update-ref', '-m', move.reason, 'HEAD', move.to, move.head] });
  forgetMove(git.location);
}

function noteAt({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): string {
  return join(gitDir, 'uwf', 'moving');
}
