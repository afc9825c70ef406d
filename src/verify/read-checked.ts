import { INDEX_NAME, type IndexEntry, parseIndex } from '../cas/commit-nodes.ts';
import { PINNED_FOLDER } from '../cas/node-tree.ts';
import { type Commit, encodeCommit, parseCommit, type TreeEntry, type TreeMode } from '../git/format/objects.ts';
import { formatOfId, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readBlob, readCommitData, readTree } from '../git/stores/read.ts';
import { assertValid } from '../schema/validate.ts';
import { eventOf, indexedFolder, kindOfFile, type ThreadCommit, type ThreadEvent } from '../thread/thread-commit.ts';
import { attempt, type ReportFault } from './fault.ts';
import type { NodeCache } from './known-nodes.ts';

/** A commit of a thread whose node is valid, and its files. */
export type CheckedCommit = {
  commit: ThreadCommit;
  files: CommitFiles;
  /** Why its object differs from what uwf writes; `undefined` if it does not. */
  fault: string | undefined;
};

/** Reads a commit of a thread, all folders of its tree, and its node. @returns `undefined` if it is no commit of a thread */
export async function readChecked(
  cache: NodeCache,
  id: ObjectId,
  report: ReportFault,
): Promise<CheckedCommit | undefined> {
  const { repository } = cache;
  const data = await attempt(report, null, () => readCommitData(repository.objects, id));
  const commit = data && (await attempt(report, null, async () => parseCommit(data, formatOfId(id))));
  if (data === undefined || commit === undefined) return undefined;
  const files = await readFiles(repository, commit.tree, report);
  const named = files.index.flatMap((entry) => {
    const kind = kindOfFile(entry.path);
    return kind === undefined ? [] : [{ entry, kind }];
  });
  const [only, second] = named;
  if (only === undefined || second !== undefined) {
    const found = second === undefined ? 'none' : `${named.length}`;
    report(null, `its tree has to have one of start, step, suspend, resume and end.json; it has ${found}`);
    return undefined;
  }
  const { entry, kind } = only;
  const event = await attempt(report, entry.path, () => readEvent(cache, id, entry, kind));
  return (
    event && {
      commit: { id, commit, index: files.index, hash: entry.hash, ...event },
      files,
      fault: faultOfHeaders(data, commit),
    }
  );
}

async function readEvent(
  cache: NodeCache,
  id: ObjectId,
  entry: IndexEntry,
  kind: ThreadCommit['kind'],
): Promise<ThreadEvent> {
  const node = await cache.read(entry);
  const event = eventOf(id, kind, node);
  await assertValid(node.type, node.payload);
  return event;
}

/** Headers of a signature, which a user may add. Their values continue on lines that begin with a space. */
const signatures = /^gpgsig(?:-sha256)? [^\n]*\n(?: [^\n]*\n)*/gm;

/**
 * Returns a fault if a commit's bytes differ from what uwf writes: other headers (`encoding`, or unknown ones), dates in
 * another time zone, or names that git does not write. A signature is allowed.
 */
function faultOfHeaders(data: Uint8Array, commit: Commit): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = bytes.indexOf('\n\n') + 1;
  const headers = bytes.toString('latin1', 0, end).replaceAll(signatures, '');
  try {
    const expected = Buffer.from(encodeCommit(commit));
    if (Buffer.concat([Buffer.from(headers, 'latin1'), bytes.subarray(end)]).equals(expected)) return undefined;
  } catch {
    // uwf cannot write this commit.
  }
  return 'it is not as uwf writes a commit: it has other headers than tree, parent, author, committer and a signature, or they are written differently';
}

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
