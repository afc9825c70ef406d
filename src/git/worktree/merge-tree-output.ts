import { parseObjectId, type ObjectId } from '../format/object-id.ts';

/** An entry of an index for a file with a conflict. Source: git-ls-files(1), "OUTPUT". */
export type ConflictStage = {
  /** As git writes modes: `100644`. */
  mode: string;
  id: ObjectId;
  /** 1 for the base, 2 for our side, 3 for theirs. */
  stage: number;
  /** In Latin-1: each byte is a character. */
  path: string;
};

/** Git's report of one conflict. Paths are in Latin-1; the first is the one that git reports the conflict for. */
export type ToldConflict = { kind: string; message: string; paths: string[] };

/** What `git merge-tree` printed. */
export type MergeTreeOutput = {
  /** The merged tree; files with conflicts have markers, or the content of one side. */
  tree: ObjectId;
  stages: ConflictStage[];
  conflicts: ToldConflict[];
};

/** `CONFLICT (contents)`, and in some places without the space. */
const conflictKind = /^CONFLICT ?\((.*)\)$/s;

/**
 * Reads what `git merge-tree --write-tree -z` prints: the tree; if there are conflicts, entries up to an empty field, and
 * messages, each of a number of paths, the paths, a kind and a text. Messages that are not about conflicts are left out.
 *
 * Source: git-merge-tree(1), "OUTPUT".
 */
export function parseMergeTree(printed: Buffer): MergeTreeOutput {
  const fields = printed.toString('latin1').split('\0');
  const tree = parseObjectId(fields[0] ?? '');
  const end = fields.indexOf('', 1);
  const stages = fields.slice(1, end).map(parseStage);
  const conflicts: ToldConflict[] = [];
  for (let at = end + 1; at + 1 < fields.length;) {
    const paths = fields.slice(at + 1, at + 1 + Number(fields[at]));
    at += 1 + paths.length;
    const kind = conflictKind.exec(fields[at] ?? '')?.[1];
    const message = Buffer.from(fields[at + 1] ?? '', 'latin1')
      .toString('utf8')
      .trimEnd();
    if (kind !== undefined) conflicts.push({ kind, message, paths });
    at += 2;
  }
  return { tree, stages, conflicts };
}

function parseStage(line: string): ConflictStage {
  const tab = line.indexOf('\t');
  const [mode = '', id = '', stage = ''] = line.slice(0, tab).split(' ');
  return { mode, id: parseObjectId(id), stage: Number(stage), path: line.slice(tab + 1) };
}
