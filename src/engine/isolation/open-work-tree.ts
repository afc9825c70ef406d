import { constants, cpSync, existsSync, lstatSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runProgram } from '../../agent/processes/run-program.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { errnoOf } from '../../git/format/errors.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { missingFiles, textOfPath, type Unrecordable } from '../../git/format/paths.ts';
import { type GitPlace, runGit } from '../../git/process/run-git.ts';
import type { RepositoryLocation } from '../../git/repository.ts';
import { realPath, withoutPlaces } from '../../git/repository/git-directory.ts';
import { branchesMadeFor, mainWorkTree, noteThread, relink, type ThreadNote } from '../../git/repository/work-trees.ts';
import type { ObjectBatch } from '../../git/stores/publish.ts';
import { readCommit } from '../../git/stores/read.ts';
import { isWithin, makeFolders } from '../../git/system/files.ts';
import { INCLUDE_FILE, noteCopied } from '../../git/worktree/find-changes.ts';
import {
  findOwnWorkTree,
  forgetGoneWorkTree,
  isFreeFolder,
  makeOwnWorkTree,
  type MakingPlace,
  moveOwnWorkTree,
  type OwnContent,
  refillOwnWorkTree,
  removeOwnWorkTree,
  treeOfFiles,
} from '../../git/worktree/own-work-tree.ts';
import { readHead, takeSnapshot } from '../../git/worktree/snapshot.ts';
import { filesOfStep, findNewestRecorded } from '../../thread/step-files.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { MAX_TIMER_MS } from '../../time/clock.ts';
import { isThreadCommit } from '../../verify/find-chain.ts';
import { admitSetup } from '../agents/admission.ts';
import type { Deciding, Machine, Telling } from '../engine-context.ts';
import type { Lease } from '../leases/lease.ts';
import { snapshotLimits } from '../workspace/record-workspace.ts';
import { branchNames, gitPlace, type WantedBase, workTreeFolder, workTreesFolder } from './work-place.ts';
import { findReusable, listWorkTrees, treeAt } from './work-trees.ts';

const DEFAULT_TIMEOUT_MS = 600_000;

type FilesPlace = Pick<ThreadState, 'id' | 'start' | 'last'>;

/**
 * Returns the thread's own work tree, with the files of its newest snapshot, or of its base. Makes it if it is not there.
 *
 * A work tree that has those files stays as it is, with what a killed turn left in it: the turn is taken again there. One that
 * lags behind, because the thread went on elsewhere, gets the newer files. If it has files that no snapshot has, it is moved
 * aside first.
 * @param lease that of the thread
 * @throws {UwfError} `no-place-for-work-trees`; `work-tree-too-large` beyond a limit of the configuration
 */
export async function openWorkTree(
  engine: Machine & Telling,
  lease: Pick<Lease, 'setProcessGroup'>,
  state: FilesPlace,
  workflow: string,
): Promise<RepositoryLocation> {
  const git = gitPlace(engine);
  const folder = workTreeFolder(engine, state.id);
  const wanted = await filesWanted(engine, state);
  const equip: OwnContent['equip'] = ({ signal = engine.signal, ...place }) =>
    equipWorkTree(engine, lease, place, state.id, signal);
  const content: OwnContent = { ...wanted, thread: state.id, branches: branchNames(workflow, state.id), equip };
  if (!existsSync(folder)) await bringHere(engine, git, folder, state.id);
  const found = await findOwnWorkTree(git, folder);
  if (found?.note?.thread === state.id) {
    const place = { ...git, location: found.location };
    if (found.note.at === wanted.at || (await catchUp(engine, place, found.note, content))) return found.location;
    const aside = asideOf(folder);
    // git moves no work tree with submodules.
    if (!(await moveOwnWorkTree(git, folder, aside))) throw notMoved(folder, aside);
  } else if (found) {
    await removeOwnWorkTree(git, folder, branchesMadeFor(found.location));
  } else if (!isFreeFolder(folder)) {
    // An agent removed its `.git`, or a person its registration: only the folder has what the turn left.
    renameSync(folder, asideOf(folder));
    await removeOwnWorkTree(git, folder, []);
  } else {
    await forgetGoneWorkTree(git, folder);
  }
  makeRoom(git, dirname(folder));
  await assertFits(engine, git, wanted.tree);
  return inTime(engine, async (signal) => {
    const place = { ...git, signal };
    return (await reuse(engine, place, folder, content)) ?? (await makeOwnWorkTree(place, folder, content));
  });
}

/** Moves a thread's work tree here from where it was before the repository was moved, or `isolation.folder` changed. */
async function bringHere(engine: Machine, git: GitPlace, folder: string, thread: ThreadId): Promise<void> {
  const stray = listWorkTrees(engine, git).find(({ top, note }) => note?.thread === thread && existsSync(top));
  if (stray === undefined) return;
  relink(stray);
  makeRoom(git, dirname(folder));
  // To another disk git moves none: doctor names it.
  await moveOwnWorkTree(git, stray.top, folder);
}

/** A work tree has files that no snapshot has, and stays where it is. */
function notMoved(folder: string, aside: string): UwfError {
  return new UwfError(`${folder} has files that no snapshot has, and git cannot move it aside`, {
    code: 'work-tree-not-moved',
    kind: 'environment',
    hint: `copy what you need, and remove it with 'git worktree remove --force ${folder}'`,
    facts: { folder, aside },
  });
}

/** @throws {UwfError} `no-place-for-work-trees` if the folder cannot be made */
function makeRoom({ location }: GitPlace, folder: string): void {
  const tops = [mainWorkTree(location), location.workTree].filter((top) => top !== undefined);
  try {
    makeFolders(folder);
    // A home folder can be a repository. What is made here is no change of its files, and not to be committed there.
    if (tops.some((top) => isWithin(realPath(folder), realPath(top)))) writeFileSync(join(folder, '.gitignore'), '*\n');
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    throw new UwfError(`the folder for work trees of threads cannot be made: ${messageOf(error)}`, {
      code: 'no-place-for-work-trees',
      kind: 'environment',
      hint: 'name another one with isolation.folder of the configuration, or XDG_STATE_HOME',
      cause: error,
    });
  }
}

/** Gives a work tree the files of the thread. @returns false if it has files that no snapshot has */
async function catchUp(engine: Machine, git: GitPlace, note: ThreadNote, content: OwnContent): Promise<boolean> {
  const { at, commit, tree } = content;
  const now = await treeOfFiles(engine.repository, git, snapshotLimits(engine, 'worktree'));
  // A process was killed after it had stored the step, and before it noted that.
  if (now === tree) noteThread(git.location, { ...note, at, commit });
  else if (now !== undefined && now === (await treeAt(engine.repository, note.at)))
    await refillOwnWorkTree(git, note, content);
  else return false;
  return true;
}

/** Takes the work tree of a thread that has ended: git writes only what differs. */
async function reuse(
  engine: Machine,
  git: MakingPlace,
  folder: string,
  content: OwnContent,
): Promise<RepositoryLocation | undefined> {
  for await (const { top, note } of findReusable(engine, git, content)) {
    if (!(await moveOwnWorkTree(git, top, folder))) continue;
    const moved = await findOwnWorkTree(git, folder);
    if (moved?.note?.thread !== note.thread) {
      // Another process was just removing it.
      await removeOwnWorkTree(git, folder, []);
      continue;
    }
    await refillOwnWorkTree({ ...git, location: moved.location }, note, content);
    return moved.location;
  }
  return undefined;
}

/** Makes a work tree within the limit of the configuration. @throws {UwfError} `work-tree-too-large` beyond it */
async function inTime<T>(engine: Machine, make: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = engine.config.isolation ?? {};
  const timeout = AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS));
  const signal = AbortSignal.any([engine.signal, timeout]);
  try {
    return await make(signal);
  } catch (error) {
    if (!timeout.aborted || engine.signal.aborted) throw error;
    const what = `making a work tree took longer than ${timeoutMs / 1000} s`;
    const hint = 'raise isolation.timeoutMs, or mend the program of isolation.setup if one is configured';
    throw new UwfError(what, { code: 'work-tree-too-large', kind: 'environment', hint });
  }
}

async function assertFits({ config }: Deciding, git: GitPlace, tree: ObjectId): Promise<void> {
  const maxBytes = config.isolation?.maxBytes;
  if (maxBytes === undefined) return;
  const lines = (await runGit({ ...git, args: ['ls-tree', '-r', '-l', '-z', tree] })).toString('latin1').split('\0');
  const bytes = lines.reduce((sum, line) => sum + (Number(/^\d+ blob \S+ +(\d+)/.exec(line)?.[1]) || 0), 0);
  if (bytes <= maxBytes) return;
  const what = `a work tree would have ${bytes} bytes, more than the ${maxBytes} of isolation.maxBytes`;
  const hint = 'raise isolation.maxBytes, or let git check out less (git sparse-checkout)';
  throw new UwfError(what, { code: 'work-tree-too-large', kind: 'environment', hint, facts: { bytes, maxBytes } });
}

/** The files that a thread's work tree has to have: those of its newest snapshot, else of its base, else what is checked out. */
async function filesWanted(
  engine: Machine,
  { start, last }: FilesPlace,
): Promise<Pick<OwnContent, 'at' | 'tree' | 'commit' | 'merging'>> {
  const { repository } = engine;
  const step = await findNewestRecorded(repository, last);
  const files = step && (await filesOfStep(repository, step));
  const base = start.node.base ?? (engine.sharesTurns ? await readCheckedOut(engine) : undefined);
  if (step && files?.commit !== undefined) {
    const { tree, commit, merging } = files;
    return { at: step.id, tree, commit, merging };
  }
  if (base === undefined) throw new CorruptThread(start.id, 'it has no base for a work tree');
  return { at: start.id, tree: (await readCommit(repository.objects, base)).tree, commit: base };
}

/** A name beside a folder that is free. */
function asideOf(folder: string): string {
  for (let number = 1; ; number += 1) {
    const aside = `${folder}.left-${number}`;
    if (isFreeFolder(aside)) return aside;
  }
}

const MAX_SETUP_BYTES = 1024 * 1024;
const SETUP_GRACE_MS = 5_000;

/**
 * Makes a new work tree fit to work in: copies the ignored files that `.worktreeinclude` of the main work tree names, and runs
 * the program that `isolation.setup` of the configuration names.
 *
 * A file that the new work tree would record is not copied. One that cannot be copied is told.
 * @param lease notes that program's process group, so that the next holder can end it
 * @param signal ends that program
 * @throws {UwfError} `set-up-failed` if that program fails
 * @throws the signal's reason when that is aborted
 */
async function equipWorkTree(
  engine: Machine & Telling,
  lease: Pick<Lease, 'setProcessGroup'>,
  git: GitPlace,
  thread: ThreadId,
  signal: AbortSignal,
): Promise<void> {
  const top = git.location.workTree;
  if (top === undefined) return;
  const missing = missingFiles(await copyIncluded(git, top));
  if (missing !== undefined) engine.tell({ event: 'work-tree.incomplete', thread, missing });
  const setup = await admitSetup(engine, top);
  if (setup !== undefined) await runSetup(engine, lease, setup, top, signal);
}

async function runSetup(
  { env }: Machine,
  lease: Pick<Lease, 'setProcessGroup'>,
  argv: readonly [string, ...string[]],
  cwd: string,
  signal: AbortSignal,
): Promise<void> {
  const unnoted = new AbortController();
  const { exit, errorTail, isCut } = await runProgram({
    argv,
    cwd,
    env: withoutPlaces(env),
    input: '',
    maxOutputBytes: MAX_SETUP_BYTES,
    graceMs: SETUP_GRACE_MS,
    signal: AbortSignal.any([signal, unnoted.signal]),
    onStart(pgid) {
      try {
        lease.setProcessGroup(pgid);
      } catch (error) {
        unnoted.abort(error);
      }
    },
    onOutput: () => {},
    onAside: () => {},
  });
  if (exit === 0 && !isCut) return;
  const said = errorTail.trim();
  const how = isCut ? `it wrote more than ${MAX_SETUP_BYTES} bytes and was ended` : exit;
  throw new UwfError(`'${argv.join(' ')}' failed in the new work tree (${how})${said === '' ? '' : `: ${said}`}`, {
    code: 'set-up-failed',
    kind: 'environment',
    hint: 'isolation.setup of the configuration names it; mend it, and run the thread again',
  });
}

/**
 * Copies the ignored files that `.worktreeinclude` of the main work tree names, except those that the new work tree does not
 * ignore, and notes them.
 * @param top the top of the new work tree
 * @returns files that could not be copied
 */
async function copyIncluded(git: GitPlace, top: string): Promise<Unrecordable[]> {
  const from = mainWorkTree(git.location);
  const isWanted = from !== undefined && lstatSync(join(from, INCLUDE_FILE), { throwIfNoEntry: false })?.isFile();
  const left: Unrecordable[] = [];
  const leave = (path: string, reason: string): void => void left.push({ path, reason });
  const paths = isWanted === true ? await ignoredInBoth(git, { from, top }, leave) : [];
  // Before there is a copy: a killed process leaves none that is not known.
  noteCopied(git.location, paths);
  if (from === undefined) return left;
  for (const path of paths) {
    const name = textOfPath(path);
    if (name === undefined) leave(path, 'has a name that is not UTF-8');
    else tryToCopy(join(from, name), join(top, name), (reason) => leave(path, reason));
  }
  return left;
}

function tryToCopy(from: string, to: string, leave: (reason: string) => void): void {
  try {
    // A reflink where the file system has them; never a hard link, which a write in place would reach through.
    const options = { mode: constants.COPYFILE_FICLONE, recursive: true, verbatimSymlinks: true, force: false };
    cpSync(from, to, options);
  } catch (error) {
    const code = errnoOf(error);
    // No other file could be copied either.
    if (code === undefined || code === 'ENOSPC' || code === 'EDQUOT') throw error;
    leave(`cannot be copied: ${messageOf(error)}`);
  }
}

type Places = { from: string; top: string };

/** Paths in Latin-1. */
async function ignoredInBoth(
  git: GitPlace,
  { from, top }: Places,
  leave: (path: string, reason: string) => void,
): Promise<string[]> {
  const { commonDir } = git.location;
  const main = { ...git, location: { gitDir: commonDir, commonDir, workTree: from } };
  const listing = ['ls-files', '-z', '--others', '--ignored'];
  const [named, ignored] = await Promise.all([
    runGit({ ...main, args: [...listing, `--exclude-from=${INCLUDE_FILE}`] }),
    runGit({ ...main, args: [...listing, '--exclude-standard'] }),
  ]);
  const isIgnored = new Set(pathsIn(ignored));
  const wanted = pathsIn(named).filter((path) => {
    if (!isIgnored.has(path)) return false;
    // git does not look through a link, and the copy would be elsewhere.
    const isReached = !isBelowOther(top, path);
    if (!isReached) leave(path, 'is below a link or a file in the new work tree');
    return isReached;
  });
  if (wanted.length === 0) return [];
  const input = Buffer.from(wanted.map((path) => `${path}\0`).join(''), 'latin1');
  return pathsIn(await runGit({ ...git, args: ['check-ignore', '-z', '--stdin'], input, codes: [0, 1] }));
}

/** Tells whether something other than a folder is where a folder of a path has to be. */
function isBelowOther(top: string, path: string): boolean {
  for (let to = path.indexOf('/'); to !== -1; to = path.indexOf('/', to + 1)) {
    const folder = Buffer.concat([Buffer.from(`${top}/`), Buffer.from(path.slice(0, to), 'latin1')]);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found?.isDirectory() !== true) return found !== undefined;
  }
  return false;
}

function pathsIn(listed: Buffer): string[] {
  return listed.toString('latin1').split('\0').slice(0, -1);
}

/** The base of a thread. `release` is called when the start is stored: the objects are protected until then. */
type ChosenBase = { id: ObjectId; release: () => void };

const release = (): void => {};

/**
 * Chooses the commit that the work tree of a new thread is made from: by default the one that is checked out.
 *
 * With `changes`, a commit of what is not committed is added to the batch.
 * @throws {UwfError} `nothing-to-isolate` if nothing is checked out; `no-place-for-work-trees`
 */
export async function chooseBase(
  engine: Machine,
  batch: ObjectBatch,
  wanted: WantedBase | undefined,
): Promise<ChosenBase> {
  // Now, not in the middle of a run.
  workTreesFolder(engine);
  if (wanted !== undefined && isObjectId(wanted) && (await isThreadCommit(engine.repository, wanted))) {
    const hint = 'name a commit of your code; a thread goes on as a fork of it';
    throw new UwfError(`${wanted} is a commit of a thread`, { code: 'base-is-thread', kind: 'usage', hint });
  }
  if (wanted !== undefined && wanted !== 'head' && wanted !== 'changes') return { id: wanted, release };
  const head = await readCheckedOut(engine);
  return wanted === 'changes' ? commitChanges(engine, batch, head) : { id: head, release };
}

/** Reads the commit that is checked out, or of a bare repository the one that its HEAD leads to. */
async function readCheckedOut(engine: Machine): Promise<ObjectId> {
  const head = await readHead(engine.repository, gitPlace(engine).location);
  if (head !== undefined) return head;
  throw new UwfError('a work tree of its own needs a commit, and nothing is committed here', {
    code: 'nothing-to-isolate',
    kind: 'data',
    hint: 'commit first, or name a revision with --from',
  });
}

async function commitChanges(engine: Machine, batch: ObjectBatch, head: ObjectId): Promise<ChosenBase> {
  const { repository, signal } = engine;
  const snapshot = await takeSnapshot(repository, { ...gitPlace(engine), limits: snapshotLimits(engine), signal });
  const { tree, shortfall, missing } = snapshot;
  if (shortfall !== undefined || missing !== undefined) {
    snapshot.release();
    const what = shortfall ?? `${missing?.files[0]?.path}: ${missing?.files[0]?.reason}`;
    throw new UwfError(`what is not committed cannot be recorded: ${what}`, {
      code: 'changes-not-recorded',
      kind: 'data',
    });
  }
  if (tree === (await readCommit(repository.objects, head)).tree) return { id: head, release: snapshot.release };
  for (const object of snapshot.objects) batch.add(object);
  const who = { ...repository.committer, atMs: repository.now() };
  const message = 'changes that were not committed\n';
  const id = batch.addCommit({ tree, parents: [head], author: who, committer: who, message });
  return { id, release: snapshot.release };
}
