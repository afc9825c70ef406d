import { GitFailed, runGit } from '../process/run-git.ts';
import { requiredFilters, type IndexRun } from './find-changes.ts';
import type { Unrecordable } from './missing-files.ts';

/** Makes git stream new files into one pack that it syncs, instead of a file for each. */
export const streamed = 'core.bigFileThreshold=1';
/**
 * Records files whose line ends would change. Does not record names that other file systems treat as `.git`, because such
 * trees cannot be fetched.
 */
const rules = ['core.safecrlf=false', 'core.protectNTFS=true', 'core.protectHFS=true'];

type Failure = Unrecordable & { filter?: string };

/** After so many failures the snapshot fails. */
const MAX_FAILURES = 100;

/**
 * Puts files into an index and takes others out. A path on which git fails stays as in the index, and the rest is put in.
 *
 * @param files also folders of repositories; paths in Latin-1, as all here
 * @returns the paths on which git failed
 * @throws {GitFailed} if it fails and names no path
 */
export async function updateIndex(
  run: IndexRun,
  files: readonly string[],
  removed: readonly string[],
): Promise<Unrecordable[]> {
  if (removed.length > 0)
    await runGit({ ...run, args: ['update-index', '--force-remove', '-z', '--stdin'], input: listed(removed) });
  const left = new Set(files);
  const failed: Unrecordable[] = [];
  const silenced = new Set<string>();
  while (left.size > 0) {
    const { said, hasFailed } = await tryUpdate(run, left, silenced);
    const found = hasFailed ? await blame(run, said, left) : ignoredAmong(said, left);
    if ((hasFailed && found.length === 0) || failed.length > MAX_FAILURES) throw new GitFailed(['update-index'], said);
    for (const { path, reason, filter } of found) {
      if (filter !== undefined) silenced.add(filter);
      if (left.delete(path)) failed.push({ path, reason });
    }
    if (!hasFailed) break;
  }
  return failed;
}

/** git writes nothing if it fails. */
async function tryUpdate(
  run: IndexRun,
  paths: Iterable<string>,
  silenced: Iterable<string>,
): Promise<{ said: string; hasFailed: boolean }> {
  const unset: string[] = [];
  for (const name of silenced) unset.push(...(await silence(run, name)));
  const settings = [...run.settings, streamed, ...rules, ...unset];
  const args = ['update-index', '--add', '--remove', '--replace', '-z', '--stdin'];
  const lines: string[] = [];
  try {
    await runGit({ ...run, settings, args, input: listed(paths), onProgress: (line) => lines.push(line) });
    return { said: lines.join('\n'), hasFailed: false };
  } catch (error) {
    if (error instanceof GitFailed) return { said: error.said, hasFailed: true };
    throw error;
  }
}

function listed(paths: Iterable<string>): Buffer {
  return Buffer.from([...paths].map((path) => `${path}\0`).join(''), 'latin1');
}

/**
 * Turns off a filter that fails. No file with the filter is added, but git compares files that are as old as the index when
 * it writes the index. A file that appears only now is recorded as empty, or, with a long-running filter, as it is.
 */
async function silence(run: IndexRun, name: string): Promise<string[]> {
  const isLasting = await runGit({ ...run, args: ['config', '--get', `filter.${name}.process`] }).then(
    () => true,
    () => false,
  );
  const instead = isLasting ? ['process=', 'required=false'] : ['clean=cat >/dev/null'];
  return instead.map((pair) => `filter.${name}.${pair}`);
}

/** The files whose names no tree may have: git passes them over. */
function ignoredAmong(said: string, files: ReadonlySet<string>): Failure[] {
  const names = new Set(said.split('\n').flatMap((line) => /^Ignoring path (.+)$/.exec(line)?.[1] ?? []));
  const reason = "cannot be added: an invalid path, which some file systems take for '.git'; rename it, or ignore it";
  return [...files].filter((path) => names.has(asSaid(path))).map((path) => ({ path, reason }));
}

/** Finds the files on which git failed, by the names in its stderr. */
async function blame(run: IndexRun, said: string, files: ReadonlySet<string>): Promise<Failure[]> {
  const [, filter] = /^fatal: .*: clean filter '(.+)' failed$/m.exec(said) ?? [];
  if (filter !== undefined) return withFilters(run, files, [filter]);
  const [, unprocessed] = /^fatal: Unable to process path (.+)\n$/ms.exec(said) ?? [];
  const lines = said.split('\n').filter((line) => /^(?:error|fatal): /.test(line));
  const found = [...files].flatMap((path) => {
    const name = asSaid(path);
    const own = name === unprocessed ? lines[0] : undefined;
    const line = own ?? lines.find((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`));
    return line === undefined ? [] : [{ path, reason: `cannot be added: ${line.replace(/^\w+: /, '')}` }];
  });
  // git does not name the file if a long-running filter ends.
  return found.length > 0 ? found : withFilters(run, files, await requiredFilters(run));
}

/** A path as it stands in stderr, which was decoded as UTF-8. */
function asSaid(path: string): string {
  return Buffer.from(path, 'latin1').toString();
}

/** The given and tracked files whose attribute `filter` is one of the failing filters. */
async function withFilters(run: IndexRun, files: ReadonlySet<string>, filters: readonly string[]): Promise<Failure[]> {
  const tracked = await runGit({ ...run, args: ['ls-files', '-z'] });
  const input = Buffer.concat([listed(files), tracked]);
  const printed = await runGit({ ...run, args: ['check-attr', '-z', '--stdin', 'filter'], input });
  const fields = printed.toString('latin1').split('\0');
  return fields.flatMap((path, at) => {
    const filter = fields[at + 2];
    if (at % 3 !== 0 || filter === undefined || !filters.includes(filter)) return [];
    const reason = `needs the filter '${filter}', which fails; see 'git config --get-regexp filter.${filter}', or ignore it`;
    return [{ path, reason, filter }];
  });
}
