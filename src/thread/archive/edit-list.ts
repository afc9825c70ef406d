import type { ObjectId } from '../../git/format/object-id.ts';
import type { TreeEntry } from '../../git/format/tree.ts';
import type { ObjectBatch } from '../../git/stores/object-batch.ts';
import { readBlob, readTree, type ObjectReader } from '../../git/stores/read.ts';
import type { ThreadId } from '../thread-id.ts';
import { formatLines, MAX_LINES, parseLines, type ArchivedThread } from './archive-list.ts';

/** Changes by thread: its new line, or `null` to remove it. */
export type ListChanges = ReadonlyMap<ThreadId, ArchivedThread | null>;

/**
 * Adds the trees of a changed list to a batch. Reads and writes only what lies on the paths of the changed lines.
 *
 * A file with too many lines becomes a folder with a file for each next character.
 * @param tree the list's tree before; `undefined` for an empty list
 * @returns the list's tree
 */
export async function editList(
  objects: ObjectReader,
  batch: ObjectBatch,
  tree: ObjectId | undefined,
  changes: ListChanges,
): Promise<ObjectId> {
  const editing = { objects, batch };
  return batch.addTree(await editFolder(editing, tree, '', changes));
}

type Editing = { objects: ObjectReader; batch: ObjectBatch };

async function editFolder(
  editing: Editing,
  before: ObjectId | undefined,
  prefix: string,
  changes: ListChanges,
): Promise<TreeEntry[]> {
  const entries = new Map<string, TreeEntry>();
  if (before) for (const entry of await readTree(editing.objects, before)) entries.set(entry.name, entry);
  const byName = new Map<string, Map<ThreadId, ArchivedThread | null>>();
  for (const [id, change] of changes) {
    const name = id.charAt(prefix.length);
    const group = byName.get(name) ?? new Map<ThreadId, ArchivedThread | null>();
    byName.set(name, group.set(id, change));
  }
  for (const [name, group] of byName) {
    const after = await editEntry(editing, entries.get(name), prefix + name, group);
    if (after === undefined) entries.delete(name);
    else entries.set(name, { name, ...after });
  }
  return [...entries.values()];
}

/** @returns the file or folder; `undefined` if no line is left */
async function editEntry(
  editing: Editing,
  before: TreeEntry | undefined,
  prefix: string,
  changes: ListChanges,
): Promise<Pick<TreeEntry, 'mode' | 'id'> | undefined> {
  const { objects, batch } = editing;
  if (before?.mode === '040000') return folderOf(batch, await editFolder(editing, before.id, prefix, changes));
  const lines = new Map<ThreadId, ArchivedThread>();
  if (before) {
    const text = Buffer.from(await readBlob(objects, before.id)).toString('utf8');
    for (const line of parseLines(before.id, text)) lines.set(line.id, line);
  }
  for (const [id, line] of changes) {
    if (line === null) lines.delete(id);
    else lines.set(id, line);
  }
  if (lines.size === 0) return undefined;
  if (lines.size > MAX_LINES) return folderOf(batch, await editFolder(editing, undefined, prefix, lines));
  const sorted = [...lines.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return { mode: '100644', id: batch.addBlob(formatLines(sorted)) };
}

function folderOf(batch: ObjectBatch, entries: readonly TreeEntry[]): Pick<TreeEntry, 'mode' | 'id'> | undefined {
  return entries.length === 0 ? undefined : { mode: '040000', id: batch.addTree(entries) };
}
