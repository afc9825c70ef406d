import { kindOfMode, readTreeLines, type TreeLine } from '../tree-lines.ts';
import { runGit } from './run-git.ts';
import type { GitStart } from './spawn-git.ts';

/** A commit or a tree, as far as it says where others lie. */
type Leading = { kind: 'commit'; tree: string; parents: string[] } | { kind: 'tree'; entries: TreeLine[] };

/** So much of commits and trees is looked at; what is found in none of it is ordered less well. */
const mostLeadingBytes = 64 * 1024 * 1024;

/**
 * Puts objects into the order in which differences between neighbours are small: what lay at one path, the newest first,
 * then what lay at the next.
 *
 * git itself would compare files of one name by their sizes. What an agent was told is the same each time but for its
 * beginning and its end, and always about as long: by size, neighbours are hundreds of steps apart.
 *
 * Only commits and trees are read, up to `mostBytes` of them. What none of these leads to comes last.
 * @returns all of `ids`, also those that are not there
 * @throws {GitFailed} if one of them is damaged
 */
export async function orderObjects(
  git: Omit<GitStart, 'args'>,
  ids: ReadonlySet<string>,
  mostBytes: number = mostLeadingBytes,
): Promise<string[]> {
  const leading = await readLeading(git, ids, mostBytes);
  const byPath = new Map<string, string[]>([['', []]]);
  const seen = new Set<string>();
  const place = (id: string, path: string): void => {
    if (!ids.has(id) || seen.has(id)) return;
    seen.add(id);
    const group = groupOf(path);
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

/** What a role said is in what the next was told: put between prompts it is hardly more than a place in one of them. */
function groupOf(path: string): string {
  return path === '/output.md' ? '/prompt.md' : path;
}

/** The commits: each chain of first parents in one piece, from its newest on. */
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
  // Commits first: without them no tree is found.
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
    // What has gone in between is no longer in the way: git will say so when it is to be packed.
    const data = contents.subarray(end + 1, end + 1 + Number(size ?? 0));
    if (type === 'commit') leading.set(id, readCommitHead(data));
    if (type === 'tree') leading.set(id, { kind: 'tree', entries: readTreeLines(data, id.length / 2) ?? [] });
    at = size === undefined ? end + 1 : end + 1 + data.length + 1;
  }
  return leading;
}

function readCommitHead(data: Buffer): Leading {
  const head = data.toString('latin1', 0, data.indexOf('\nauthor ') + 1);
  const ids = (field: string): string[] =>
    [...head.matchAll(new RegExp(`^${field} ([0-9a-f]+)$`, 'gm'))].map(([, id = '']) => id);
  return { kind: 'commit', tree: ids('tree')[0] ?? '', parents: ids('parent') };
}
