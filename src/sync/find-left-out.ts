import { INDEX_NAME } from '../cas/index-blob.ts';
import { PINNED_FOLDER } from '../cas/pins.ts';
import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ObjectStore } from '../git/object-store.ts';
import { readCommit, readTree, type ObjectReader } from '../git/read.ts';
import { isSpineFile } from '../thread/spine-files.ts';

/** Files of threads: what is needed to follow them, and what was said and done. None is both. */
export type ThreadFiles = { spine: Set<ObjectId>; contents: Set<ObjectId> };

/** More files than this are not looked for; a thread that has some of the rest is refused for lack of them. */
const MAX_FILES = 1_000_000;
const MAX_DEPTH = 16;

/**
 * Lists the files of threads, from tips down to commits that are known, by commits and trees alone.
 *
 * What cannot be read is passed over: the check of the thread says what is wrong with it. Commits of code are no threads'.
 * @param isKnown tells a commit behind which nothing is looked for
 */
export async function findThreadFiles(
  objects: ObjectReader,
  tips: readonly ObjectId[],
  isKnown: (commit: ObjectId) => Promise<boolean>,
): Promise<ThreadFiles> {
  const files: ThreadFiles = { spine: new Set(), contents: new Set() };
  const seen = new Set<string>();
  const addFolder = async (tree: ObjectId, folder: string, depth: number, top?: string[]): Promise<boolean> => {
    // Most of what threads have in common lies in the same place: the definition, the types.
    if (seen.has(`${tree} ${folder}`) || depth > MAX_DEPTH) return true;
    seen.add(`${tree} ${folder}`);
    const entries = await readTree(objects, tree);
    const root = top ?? entries.map(({ name }) => name);
    if (depth === 0 && !root.includes(INDEX_NAME)) return false;
    for (const { name, mode, id } of entries) {
      const path = folder + name;
      if (mode !== '040000') (isSpineFile(path, root) ? files.spine : files.contents).add(id);
      else if (path !== 'workspace' && path !== PINNED_FOLDER) await addFolder(id, `${path}/`, depth + 1, root);
    }
    return true;
  };
  const waiting = [...tips];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (files.spine.size + files.contents.size > MAX_FILES) break;
    if (seen.has(id) || (await isKnown(id))) continue;
    seen.add(id);
    try {
      const { tree, parents } = await readCommit(objects, id);
      if (await addFolder(tree, '', 0)) waiting.push(...parents);
    } catch (error) {
      if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
    }
  }
  // An object can lie in both places: then it is needed.
  for (const id of files.spine) files.contents.delete(id);
  return files;
}

/** Those of some objects that are not here. */
export async function findAbsent(objects: Pick<ObjectStore, 'has'>, ids: Iterable<ObjectId>): Promise<ObjectId[]> {
  const absent: ObjectId[] = [];
  for (const id of ids) if (!(await objects.has(id))) absent.push(id);
  return absent;
}
