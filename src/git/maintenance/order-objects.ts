import { parseCommit } from '../format/commit.ts';
import { formatOfId, parseObjectId } from '../format/object-id.ts';
import { kindOfMode, readTreeLines, type TreeLine } from '../format/tree-lines.ts';
import { runGit } from '../process/run-git.ts';
import type { GitStart } from '../process/spawn-git.ts';

/** The references of a commit or a tree. */
type Leading = { kind: 'commit'; tree: string; parents: string[] } | { kind: 'tree'; entries: TreeLine[] };

/** The limit of commits and trees that are read; other objects are ordered less well. */
const MAX_LEADING_BYTES = 64 * 1024 * 1024;

/**
 * Orders objects so that deltas between neighbours are small: the objects of one path, newest first, then those of the next
 * path.
 *
 * git orders files of one name by size. The prompts of a thread differ only at their beginning and end and are about equally
 * long, so by size the neighbours would be hundreds of steps apart.
 *
 * Reads only commits and trees, up to `mostBytes`. Objects that they do not lead to come last.
 * @returns all of `ids`, also missing ones
 * @throws {GitFailed} if one of them is damaged
 */
export async function orderObjects(
  git: Omit<GitStart, 'args'>,
  ids: ReadonlySet<string>,
  mostBytes: number = MAX_LEADING_BYTES,
): Promise<string[]> {
  const leading = await readLeading(git, ids, mostBytes);
  const byPath = new Map<string, string[]>([['', []]]);
  const seen = new Set<string>();
  const place = (id: string, path: string): void => {
    if (!ids.has(id) || seen.has(id)) return;
    seen.add(id);
    // The output of a role is part of the next prompt, so between prompts it is a small delta.
    const group = path === '/output.md' ? '/prompt.md' : path;
    const there = byPath.get(group);
    if (there === undefined) byPath.set(group, [id]);
    else there.push(id);
    const object = leading.get(id);
    if (object?.kind !== 'tree') return;
    for (const { mode, name, id: below } of object.entries) {
      place(below, `${path}${name}${kindOfMode(mode) === 'folder' ? '/' : ''}`);
    }
  };
  const commits = newestFirst(leading);
  for (const [id] of commits) place(id, '');
  for (const [, { tree }] of commits) place(tree, '/');
  const placed = [...byPath.values()].flat();
  return [...placed, ...[...ids].filter((id) => !seen.has(id))];
}

/** The commits, with each chain of first parents in one piece, newest first. */
function newestFirst(leading: ReadonlyMap<string, Leading>): [string, Leading & { kind: 'commit' }][] {
  const commits = new Map<string, Leading & { kind: 'commit' }>();
  for (const [id, object] of leading) if (object.kind === 'commit') commits.set(id, object);
  const isParent = new Set([...commits.values()].flatMap(({ parents }) => parents));
  const waiting = [...commits.keys()].filter((id) => !isParent.has(id));
  const ordered = new Map<string, Leading & { kind: 'commit' }>();
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const commit = commits.get(id);
    if (commit === undefined || ordered.has(id)) continue;
    ordered.set(id, commit);
    const [first, ...others] = commit.parents;
    waiting.push(...others);
    if (first !== undefined) waiting.push(first);
  }
  return [...ordered];
}

async function readLeading(
  git: Omit<GitStart, 'args'>,
  ids: ReadonlySet<string>,
  mostBytes: number,
): Promise<Map<string, Leading>> {
  const ask = async (args: readonly string[], about: Iterable<string>): Promise<Buffer> =>
    runGit({
      ...git,
      args: ['--no-replace-objects', 'cat-file', '--buffer', ...args],
      input: `${[...about].join('\n')}\n`,
    });
  const types = (await ask(['--batch-check=%(objectname) %(objecttype) %(objectsize)'], ids)).toString('latin1');
  let bytes = 0;
  // Commits first, because trees are found by them.
  const wanted = ['commit', 'tree']
    .flatMap((type) => [...types.matchAll(new RegExp(`^([0-9a-f]+) ${type} ([0-9]+)$`, 'gm'))])
    .filter(([, , size]) => (bytes += Number(size)) <= mostBytes)
    .map(([, id = '']) => id);
  const leading = new Map<string, Leading>();
  if (wanted.length === 0) return leading;
  const contents = await ask(['--batch'], wanted);
  for (let at = 0; at < contents.length;) {
    const end = contents.indexOf('\n', at);
    if (end === -1) break;
    const [id = '', type, size] = contents.toString('latin1', at, end).split(' ');
    // An object that is gone meanwhile is skipped here: git reports it when it packs.
    const data = contents.subarray(end + 1, end + 1 + Number(size ?? 0));
    if (type === 'commit') {
      const { tree, parents } = parseCommit(data, formatOfId(parseObjectId(id)));
      leading.set(id, { kind: 'commit', tree, parents });
    }
    if (type === 'tree') leading.set(id, { kind: 'tree', entries: readTreeLines(data, id.length / 2) ?? [] });
    at = size === undefined ? end + 1 : end + 1 + data.length + 1;
  }
  return leading;
}
