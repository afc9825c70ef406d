import { INDEX_NAME, parseIndex, type IndexEntry } from '../../cas/index-blob.ts';
import { PINNED_FOLDER } from '../../cas/pins.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readBlob, readTree } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import type { TreeEntry, TreeMode } from '../../git/format/tree.ts';
import { indexedFolder } from '../../thread/thread-commit.ts';
import { attempt, type ReportFault } from '../fault.ts';

/** The contents of the tree of a thread's commit. */
export type CommitFiles = {
  /** The nodes that the indexes list, with their paths from the root. */
  index: IndexEntry[];
  /** The trees and blobs that artifacts pin, by their names in `pinned/`. */
  pinned: readonly TreeEntry[];
};

/** Limits, because a small number of objects can form a tree with more paths than can be counted. */
const MAX_FILES = 100_000;
const MAX_DEPTH = 16;

type TreeFile = { path: string; mode: TreeMode; id: ObjectId };

/**
 * Reads all folders of the tree of a thread's commit, and checks that each index lists the nodes of its part of the tree and
 * nothing else.
 */
export async function readFiles(repository: Repository, tree: ObjectId, report: ReportFault): Promise<CommitFiles> {
  const files: TreeFile[] = [];
  let pinned: readonly TreeEntry[] = [];
  let count = 0;
  const visit = async (id: ObjectId, folder: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) return report(folder, `it lies deeper than ${MAX_DEPTH} folders`);
    const entries = await attempt(report, folder || null, () => readTree(repository.objects, id));
    if (entries?.length === 0) report(folder || null, 'it is an empty folder');
    for (const { name, mode, id: child } of entries ?? []) {
      count += 1;
      if (count === MAX_FILES + 1) report(null, `its tree has more than ${MAX_FILES} files`);
      if (count > MAX_FILES) return;
      const path = folder + name;
      if (path === PINNED_FOLDER && mode === '040000') {
        pinned = (await attempt(report, path, () => readTree(repository.objects, child))) ?? [];
        if (pinned.length === 0) report(path, 'it is an empty folder');
      } else if (mode === '040000') await visit(child, `${path}/`, depth + 1);
      else files.push({ path, mode, id: child });
    }
  };
  await visit(tree, '', 1);
  const index: IndexEntry[] = [];
  const parts = new Map<string, TreeFile[]>([['', []]]);
  for (const file of files) {
    const folder = indexedFolder(file.path);
    const part = parts.get(folder) ?? [];
    parts.set(folder, part);
    part.push(file);
  }
  for (const [folder, part] of parts) index.push(...(await readIndex(repository, folder, part, report)));
  return { index, pinned };
}

async function readIndex(
  repository: Repository,
  folder: string,
  files: readonly TreeFile[],
  report: ReportFault,
): Promise<IndexEntry[]> {
  const path = folder + INDEX_NAME;
  const blob = files.find((file) => file.path === path);
  if (blob === undefined) {
    report(path, 'the tree has no index');
    return [];
  }
  const lines = await attempt(report, path, async () =>
    parseIndex(Buffer.from(await readBlob(repository.objects, blob.id)).toString('utf8')),
  );
  if (lines === undefined) return [];
  const listed = new Map(lines.map((line) => [folder + line.path, line]));
  for (const file of files) {
    if (file.mode !== '100644') report(file.path, `it has the mode ${file.mode}, not 100644`);
    if (file === blob) continue;
    const line = listed.get(file.path);
    if (line === undefined) report(file.path, 'the index does not list it');
    else if (line.oid !== file.id) report(file.path, `the index says object ${line.oid}, the tree has ${file.id}`);
  }
  const present = new Set(files.map((file) => file.path));
  const found: IndexEntry[] = [];
  for (const [full, line] of listed) {
    if (present.has(full)) found.push({ ...line, path: full });
    else report(full, 'the index lists it, and the tree does not have it');
  }
  return found;
}
