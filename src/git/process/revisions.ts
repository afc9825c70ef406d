import { isObjectId, type ObjectId, parseObjectId } from '../format/object-id.ts';
import { pathAsText } from '../format/paths.ts';
import { type GitPlace, runGit } from './run-git.ts';

/** The object that a revision names; tags are followed. */
type Revision = { kind: 'commit' | 'tree' | 'blob'; oid: ObjectId };

/**
 * Finds the object that a revision names, in any form of gitrevisions(7): `main`, `HEAD~2`, `v1.0`, `HEAD:src`.
 * @returns `undefined` if it names none
 */
export async function resolveRevision(git: GitPlace, text: string): Promise<Revision | undefined> {
  if (text === '' || text.startsWith('-') || /[\n\0]/.test(text)) return undefined;
  // After a colon comes a path, and `^{}` would become part of it.
  const input = `${text.includes(':') ? text : `${text}^{}`}\n`;
  const args = ['cat-file', '--batch-check=%(objectname) %(objecttype)'];
  const [oid = '', kind] = (await runGit({ ...git, args, input })).toString('utf8').trim().split(' ');
  const isKnown = kind === 'commit' || kind === 'tree' || kind === 'blob';
  return isKnown && isObjectId(oid) ? { kind, oid } : undefined;
}

export type CommitLine = { commit: ObjectId; subject: string };

/**
 * Lists the commits that are reachable from `from` and not from `without`, newest first.
 * @param without commits of this repository
 * Source: git-rev-list(1).
 */
export async function listCommits(
  git: GitPlace,
  { from, without, most }: { from: readonly ObjectId[]; without: readonly ObjectId[]; most: number },
): Promise<CommitLine[]> {
  const input = [...from, ...without.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
  const args = ['rev-list', '--stdin', `--max-count=${most}`, '--format=>%s'];
  const lines = (await runGit({ ...git, args, input })).toString('utf8').split('\n');
  // A line 'commit <id>', then the format's. It begins with '>', because git leaves out a line that would be empty.
  return lines.flatMap((line, at) => {
    const id = line.replace(/^commit /, '');
    return at % 2 === 0 && isObjectId(id) ? [{ commit: id, subject: lines[at + 1]?.slice(1) ?? '' }] : [];
  });
}

export type FileChange = {
  change: 'added' | 'deleted' | 'modified' | 'renamed' | 'type-changed';
  /** From the top of the work tree, as `pathAsText` writes it. */
  path: string;
  /** The old path of a renamed file. */
  oldPath?: string;
  /** As git writes modes: `100755`; `000000` where there is no file. */
  oldMode: string;
  newMode: string;
  /** Lines; null for a file that is not text. */
  added: number | null;
  deleted: number | null;
};

/** A file that differs, with the objects of both sides: null where there is no file, or a commit of another repository. */
export type FileContents = FileChange & { oldId: ObjectId | null; newId: ObjectId | null };

const changes: Readonly<Record<string, FileChange['change']>> = {
  A: 'added',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  T: 'type-changed',
};

/** Lists the paths at which two trees differ, in Latin-1: each byte is a character. */
export async function differingPaths(git: GitPlace, from: ObjectId, to: ObjectId): Promise<string[]> {
  const args = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', from, to];
  return (await runGit({ ...git, args })).toString('latin1').split('\0').slice(0, -1);
}

/**
 * Lists the differing files of two trees, by path, with renames.
 * @param paths only these files and folders, as git reads paths; none stands for all
 * Source: git-diff-tree(1), "Raw output format" and "OTHER DIFF FORMATS".
 */
export async function diffTrees(
  git: GitPlace,
  from: ObjectId,
  to: ObjectId,
  paths: readonly string[] = [],
): Promise<FileChange[]> {
  const files = await diffTreesWithIds(git, from, to, paths);
  return files.map(({ oldId: _oldId, newId: _newId, ...file }) => file);
}

/** Lists the differing files of two trees as {@link diffTrees} does, with where their contents are. */
export async function diffTreesWithIds(
  git: GitPlace,
  from: ObjectId,
  to: ObjectId,
  only: readonly string[] = [],
): Promise<FileContents[]> {
  if (from === to) return [];
  const args = [
    'diff-tree',
    '-r',
    '-z',
    '-M',
    '--raw',
    '--numstat',
    '--no-abbrev',
    '--no-ext-diff',
    '--no-textconv',
    from,
    to,
    '--',
    ...only,
  ];
  const fields = (await runGit({ ...git, args })).toString('latin1').split('\0');
  const found: FileContents[] = [];
  let at = 0;
  const next = (): string => fields[at++] ?? '';
  while (fields[at]?.startsWith(':')) {
    const [oldMode = '', newMode = '', oldId = '', newId = '', letter = ''] = next().slice(1).split(' ');
    const change = changes[letter.charAt(0)] ?? 'modified';
    const first = pathAsText(next());
    const paths = change === 'renamed' ? { oldPath: first, path: pathAsText(next()) } : { path: first };
    const ids = { oldId: contentOf(oldMode, oldId), newId: contentOf(newMode, newId) };
    found.push({ change, ...paths, oldMode, newMode, added: null, deleted: null, ...ids });
  }
  // The counts follow in the same order.
  for (const file of found) {
    const [added = '-', deleted = '-'] = next().split('\t');
    if (file.change === 'renamed') at += 2;
    if (added !== '-') Object.assign(file, { added: Number(added), deleted: Number(deleted) });
  }
  return found;
}

function contentOf(mode: string, id: string): ObjectId | null {
  return isContent(mode) ? parseObjectId(id) : null;
}

/** Tells whether a mode is that of a file or a symbolic link. */
function isContent(mode: string): boolean {
  return /^1[02]/.test(mode);
}
