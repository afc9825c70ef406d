import { INDEX_NAME } from '../../cas/index-blob.ts';
import { PINNED_FOLDER } from '../../cas/pins.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectStore } from '../../git/object-store.ts';
import { readCommit, readTree, type ObjectReader } from '../../git/stores/read.ts';
import { assertDataError } from '../../thread/fault-of.ts';
import { WORKSPACE_FOLDER } from '../../thread/read/recorded-files.ts';
import { kindOfFile } from '../../thread/thread-commit.ts';
import { isPartialCloneFile } from '../chain/partial-clone-files.ts';
import type { Repository } from '../../git/repository.ts';
import { RemoteUnreachable } from '../../git/transport/remote-errors.ts';
import { NotHereYet } from '../fault.ts';
import { checkIncoming, type CheckOptions, type IncomingTip } from './check-incoming.ts';
import { boundedObjects } from './bounded-objects.ts';
import { INCOMING_LIMITS } from './incoming-limits.ts';

/** Fetches objects that were left out, in one connection. */
export type Bring = (ids: readonly ObjectId[]) => Promise<void>;

/**
 * Checks threads of a partial clone, of which only commits and trees were fetched. Fetches the files that describe the
 * threads' course, in one more connection, and checks everything but the contents, which are checked when they are read.
 *
 * A thread that fails is checked again with all its contents, because rules may depend on a text that is missing.
 * @param view reads the fetched objects and those of the repository; fetches nothing
 * @returns as {@link checkIncoming}
 */
export async function checkPartialClone(
  repository: Repository,
  view: Repository,
  bring: Bring,
  tips: readonly IncomingTip[],
  options: CheckOptions,
): Promise<Map<string, string>> {
  const bounded = boundedObjects(view.objects, INCOMING_LIMITS);
  const idsOf = (some: readonly IncomingTip[]): ObjectId[] => some.map(({ id }) => id);
  const isHere = (commit: ObjectId): Promise<boolean> => repository.objects.has(commit);
  const { course, contents } = await findThreadFiles(bounded, idsOf(tips), isHere);
  await bringAll(view, bring, [...course], tips);
  const lenient = { ...options, mayLackFiles: true };
  const faults = await checkIncoming(repository, { ...view, objects: leavingOut(view, contents) }, tips, lenient);
  const unsound = tips.filter(({ ref }) => faults.has(ref));
  if (unsound.length === 0) return faults;
  const { contents: wanted } = await findThreadFiles(bounded, idsOf(unsound), async () => false);
  await bringAll(view, bring, [...wanted], unsound);
  return checkIncoming(repository, view, unsound, lenient);
}

/** Fetches objects that are missing. If the remote lacks one, fetches them thread by thread, so that the others come. */
async function bringAll(
  view: Repository,
  bring: Bring,
  ids: readonly ObjectId[],
  tips: readonly IncomingTip[],
): Promise<void> {
  try {
    await bring(await findAbsent(view.objects, ids));
  } catch (error) {
    if (!(error instanceof RemoteUnreachable)) throw error;
    const wanted = new Set(ids);
    for (const { id } of tips) {
      const files = await findThreadFiles(boundedObjects(view.objects, INCOMING_LIMITS), [id], async () => false);
      const own = [...files.course, ...files.contents].filter((file) => wanted.has(file));
      // The check reports what does not come.
      await bring(await findAbsent(view.objects, own)).catch((cause: unknown) => {
        if (!(cause instanceof RemoteUnreachable)) throw cause;
      });
    }
  }
}

/** A view that tells contents which were left out from objects that are missing. */
function leavingOut({ objects }: Repository, contents: ReadonlySet<ObjectId>): Repository['objects'] {
  return {
    format: objects.format,
    async read(id, options) {
      const object = await objects.read(id, options);
      if (object === undefined && contents.has(id)) throw new NotHereYet(id);
      return object;
    },
    has: (id) => objects.has(id),
    write: (list) => objects.write(list),
    close: () => objects.close(),
  };
}

/** Files of threads: those that describe their course, and the contents. No file is in both. */
type ThreadFiles = { course: Set<ObjectId>; contents: Set<ObjectId> };

/** Bounds of the search. A thread with files beyond them is refused, because its files are missing. */
const MAX_FILES = 1_000_000;
const MAX_DEPTH = 16;

/**
 * Lists the files of threads, from their tips to known commits. Reads commits and trees only.
 *
 * Skips what cannot be read: the check of the thread reports it. Skips commits of the user's code.
 * @param isKnown tells a commit at which the search ends
 */
async function findThreadFiles(
  objects: ObjectReader,
  tips: readonly ObjectId[],
  isKnown: (commit: ObjectId) => Promise<boolean>,
): Promise<ThreadFiles> {
  const files: ThreadFiles = { course: new Set(), contents: new Set() };
  const seen = new Set<string>();
  const addFolder = async (tree: ObjectId, folder: string, depth: number, top?: string[]): Promise<boolean> => {
    // Threads share most files at the same path: the definition and the types.
    if (seen.has(`${tree} ${folder}`) || depth > MAX_DEPTH) return true;
    seen.add(`${tree} ${folder}`);
    const entries = await readTree(objects, tree);
    const root = top ?? entries.map(({ name }) => name);
    if (depth === 0 && !isOfUwf(root)) return false;
    for (const { name, mode, id } of entries) {
      const path = folder + name;
      if (mode !== '040000') (isPartialCloneFile(path, root) ? files.course : files.contents).add(id);
      else if (path !== WORKSPACE_FOLDER && path !== PINNED_FOLDER) await addFolder(id, `${path}/`, depth + 1, root);
    }
    return true;
  };
  const waiting = [...tips];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (files.course.size + files.contents.size > MAX_FILES) break;
    if (seen.has(id) || (await isKnown(id))) continue;
    seen.add(id);
    try {
      const { tree, parents } = await readCommit(objects, id);
      if (await addFolder(tree, '', 0)) waiting.push(...parents);
    } catch (error) {
      assertDataError(error);
    }
  }
  // An object can be in both places. Then it is needed.
  for (const id of files.course) files.contents.delete(id);
  return files;
}

/** Tells a tree of uwf from files of the user, which may have an `index`, too. @param root the names in it */
function isOfUwf(root: readonly string[]): boolean {
  return root.includes(INDEX_NAME) && root.some((name) => name === 'workflow' || kindOfFile(name) !== undefined);
}

/** The objects that are missing in a store. */
async function findAbsent(objects: Pick<ObjectStore, 'has'>, ids: Iterable<ObjectId>): Promise<ObjectId[]> {
  const absent: ObjectId[] = [];
  for (const id of ids) if (!(await objects.has(id))) absent.push(id);
  return absent;
}
