import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { parseRefName } from '../../git/format/refs.ts';
import type { GitPlace } from '../../git/process/run-git.ts';
import type { GitEnvironment, RefName, Repository, RepositoryLocation } from '../../git/repository.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import { linkedWorkTrees, mainWorkTree, relink } from '../../git/repository/work-trees.ts';
import { isWithin } from '../../git/system/files.ts';
import { orElse, tryTo } from '../../or-else.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { callerCommit, type ThreadState } from '../../thread/thread-state.ts';
import { findRole, isIsolated, type Isolation, type WorkflowDefinition } from '../../workflow/definition.ts';
import { pinnedDefinition } from '../children/sub-workflow.ts';
import type { Config } from '../config/config.ts';
import type { Machine, Reading } from '../engine-context.ts';

type RolePlace = WorkingTop & { isolation: Isolation };

/**
 * Says where a role of a thread works: in the thread's own work tree if the role is isolated, else in that of the nearest
 * isolated caller, else where the engine works. An engine that keeps all threads apart has the work tree of the outermost caller
 * instead. The work tree need not be there yet.
 */
export async function workingPlace(
  engine: Machine,
  { id, start }: Pick<ThreadState, 'id' | 'start'>,
  definition: WorkflowDefinition,
  role: string,
): Promise<RolePlace> {
  const { repository } = engine;
  const isolation = isolationOf(definition, role, start.node);
  if (isIsolated(isolation)) return { repository, isolation, cwd: workTreeFolder(engine, id), isOwn: true };
  const cwd = await findCallersTree(engine, start);
  if (cwd === undefined && engine.sharesTurns) {
    return { repository, isolation, cwd: workTreeFolder(engine, id), isOwn: true };
  }
  return { repository, isolation, cwd: cwd ?? engine.cwd };
}

async function findCallersTree(
  engine: Machine,
  start: Pick<ThreadState['start'], 'node' | 'commit'>,
): Promise<string | undefined> {
  let outermost: string | undefined;
  for (let child = start; ;) {
    const at = callerCommit(child);
    const { parentRole, call } = child.node;
    const caller = at && (await findStart(engine.repository, at));
    if (caller === undefined || parentRole === null) return outermost;
    const definition = await pinnedDefinition(engine, { start: caller }, caller.node.workflow);
    const thread = call?.thread ?? caller.node.id;
    const isApart = isIsolated(isolationOf(definition, parentRole, caller.node));
    if (isThreadId(thread) && (isApart || engine.sharesTurns)) {
      const folder = workTreeFolder(engine, thread);
      if (isApart) return folder;
      outermost = folder;
    }
    child = caller;
  }
}

/**
 * How the turns of a role are kept apart: as the role says, else the workflow, else `worktree` in a thread that was started
 * with a base. A thread without a base has no work tree of its own.
 */
function isolationOf(
  definition: Pick<WorkflowDefinition, 'roles' | 'blocks' | 'isolation'>,
  role: string,
  { base }: Pick<ThreadStart, 'base'>,
): Isolation {
  const said = findRole(definition, role)?.isolation ?? definition.isolation;
  if (base === undefined) return said === 'shared' ? 'shared' : 'none';
  return said ?? 'worktree';
}

/** Tells whether a role of a workflow asks for a work tree of the thread's own. */
export function wantsIsolation({ roles, isolation }: Pick<WorkflowDefinition, 'roles' | 'isolation'>): boolean {
  return Object.values(roles).some((role) => isIsolated(role.isolation ?? isolation));
}

/** What a work tree is to be made from: a commit, what is checked out, or that with what is not committed. */
export type WantedBase = ObjectId | 'head' | 'changes';

/** A workflow wants a role to work in a folder that is none of the repository's files. */
function workingFolderOutside(role: string, source: 'cwd' | 'location', folder: string): UwfError {
  const who = source === 'cwd' ? `'cwd' of ${role}` : `the rule that gives ${role} its turn`;
  return new UwfError(`${who} names '${folder}', which is no folder of the work tree`, {
    code: 'working-folder-outside',
    kind: 'data',
    hint: "agents work in the work tree and in those that 'git worktree add' has linked to it; 'uwf thread step <thread> --role <role>' lets a role run where its definition says",
    facts: { folder, role },
  });
}

/** The folder that agents work in; `isOwn`: it is the thread's own work tree, which its roles do not leave. */
type WorkingTop = Reading & { cwd: string; isOwn?: boolean };

/**
 * Where a role's agent works: what the rule that chose it says (`location`), else its definition (`cwd`), else where all
 * do.
 *
 * Both come with a thread, which may be another user's. So they lead, links followed, into the folder that agents work
 * in or into a work tree of the same repository, and never into what belongs to git.
 * @returns absolute, links resolved where one was named; a folder that is not there is left to the agent
 * @throws {UwfError} `working-folder-outside` if they lead elsewhere
 */
export function workingFolder(
  { cwd, isOwn = false, repository: { location } }: WorkingTop,
  role: string,
  wanted: { cwd: string | undefined; location: string | undefined },
): string {
  const [source, folder] = wanted.location?.trim()
    ? (['location', wanted.location.trim()] as const)
    : (['cwd', wanted.cwd] as const);
  if (folder === undefined) return cwd;
  const path = followLinks(resolve(cwd, folder));
  const isWork = (top: string): boolean => path !== undefined && isWithin(path, top) && !isGits(top, path, location);
  const tops = isOwn ? [followLinks(cwd) ?? cwd] : workTrees(cwd, location);
  if (path === undefined || !tops.some(isWork)) throw workingFolderOutside(role, source, folder);
  return path;
}

/** Tells whether a folder is in the work tree that the command was given in, and not in another one that lies below that. */
export function isGiven(
  { cwd, repository: { location } }: Pick<WorkingTop, 'cwd' | 'repository'>,
  folder: string,
): boolean {
  const path = followLinks(folder) ?? folder;
  const [nearest] = workTrees(cwd, location)
    .filter((top) => isWithin(path, top))
    .toSorted((a, b) => b.length - a.length);
  return nearest === undefined || givenTops(cwd, location).includes(nearest);
}

function workTrees(cwd: string, location: RepositoryLocation | undefined): string[] {
  return [...givenTops(cwd, location), ...(location ? linkedWorkTrees(location).map(({ top }) => top) : [])];
}

function givenTops(cwd: string, location: RepositoryLocation | undefined): string[] {
  return [cwd, ...(location?.workTree === undefined ? [] : [location.workTree])].flatMap(
    (top) => followLinks(top) ?? [],
  );
}

/** Hooks and configuration are programs, wherever below a work tree a `.git` is. */
function isGits(top: string, path: string, location: RepositoryLocation | undefined): boolean {
  if (
    relative(top, path)
      .split(sep)
      .some((name) => name.toLowerCase() === '.git')
  )
    return true;
  const folders = location ? [location.gitDir, location.commonDir] : [];
  // A work tree may itself have been put among what is git's.
  return folders.some((folder) => isWithin(folder, top) && isWithin(path, folder));
}

/** Resolves the links in the part of a path that exists; `undefined` if they cannot be resolved. */
function followLinks(path: string): string | undefined {
  if (path.includes('\0')) return undefined;
  const missing: string[] = [];
  for (let at = path; ; at = dirname(at)) {
    try {
      return join(realpathSync.native(at), ...missing);
    } catch {
      // A link that leads nowhere, or around, may lead somewhere tomorrow.
      if (dirname(at) === at || orElse(() => lstatSync(at).isSymbolicLink(), false)) return undefined;
      missing.unshift(basename(at));
    }
  }
}

/** What the work trees of threads are found by. */
export type WorkTreesContext = {
  repository: Repository;
  config: Pick<Config, 'isolation' | 'snapshot'>;
  env: GitEnvironment;
  /** The folder for them, absolute; absent: threads have none. */
  workTrees: string | undefined;
};

/**
 * The folder of the work trees of a repository's threads, outside of its own folders: below the work tree Node finds the wrong
 * `node_modules`, below `.git` tools refuse to work.
 * @throws {UwfError} `no-place-for-work-trees` if the program that embeds uwf names none, or there is no disk
 */
export function workTreesFolder({ repository, config, workTrees }: Omit<WorkTreesContext, 'env'>): string {
  const { location } = repository;
  const all = config.isolation?.folder ?? workTrees;
  if (location === undefined || all === undefined) {
    throw new UwfError('there is no folder for the work trees of threads', {
      code: 'no-place-for-work-trees',
      kind: 'usage',
      hint: "a program names one with 'workTrees' of its engine, a configuration with 'isolation.folder'",
    });
  }
  return join(all, nameOf(location));
}

/** The folder of a thread's own work tree. Its name is the same on every call. */
export function workTreeFolder(engine: Parameters<typeof workTreesFolder>[0], thread: ThreadId): string {
  return join(workTreesFolder(engine), thread);
}

/** Puts back the `.git` of a thread's work tree that an agent removed, so that its files can be recorded. */
export function relinkOwnTree(engine: Parameters<typeof workTreesFolder>[0], thread: ThreadId): void {
  const { location } = engine.repository;
  if (location === undefined) return;
  const top = realPath(workTreeFolder(engine, thread));
  const own = linkedWorkTrees(location).find((tree) => tree.top === top);
  if (own !== undefined) tryTo(() => relink(own));
}

/** A name for people, and a digest, because two repositories can have one name. */
function nameOf({ commonDir }: RepositoryLocation): string {
  const path = realPath(commonDir);
  const name = basename(mainWorkTree({ commonDir }) ?? path).replace(/\.git$/, '') || basename(dirname(path));
  return `${name}-${createHash('sha256').update(path).digest('hex').slice(0, 8)}`;
}

/** Names for the branch of a thread's work tree, the shortest first; the last one where a branch `uwf` leaves no room below it. */
export function branchNames(workflow: string, thread: ThreadId): RefName[] {
  const id = thread.toLowerCase();
  const names = [...[6, 10, 26].map((length) => `uwf/${workflow}-${id.slice(-length)}`), `uwf-${workflow}-${id}`];
  return names.map((name) => parseRefName(`refs/heads/${name}`));
}

/** The place where git works on the repository itself. */
export function gitPlace({ repository, env }: Pick<WorkTreesContext, 'repository' | 'env'>): GitPlace {
  if (repository.location !== undefined) return { location: repository.location, env };
  throw new UwfError('the repository is not on a disk', { code: 'no-place-for-files', kind: 'usage' });
}
