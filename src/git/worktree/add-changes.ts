import { requiredFilters, type ChangedFile, type IndexRun } from './find-changes.ts';
import type { Unrecordable } from './missing-files.ts';
import { GitFailed, runGit } from '../process/run-git.ts';

/** Makes git stream new files into one pack that it syncs, instead of a file for each. */
export const streamed = 'core.bigFileThreshold=1';
/**
 * Records files whose line ends would change. Does not record names that other file systems treat as `.git`, because such
 * trees cannot be fetched.
 */
const rules = ['core.safecrlf=false', 'core.protectNTFS=true', 'core.protectHFS=true'];

type Failure = Unrecordable & { filter?: string };

/** After so many failures that name a path, the snapshot fails. */
const MAX_FAILURES = 100;

/**
 * Adds all changes to an index, except excluded paths. A path on which git fails stays as in the index, and the rest is
 * added.
 *
 * @param files the changed files
 * @param excluded paths in Latin-1
 * @returns the paths on which git failed
 * @throws {GitFailed} if it fails and names no path
 */
export async function addChanges(
  run: IndexRun,
  files: readonly ChangedFile[],
  excluded: readonly string[],
): Promise<Unrecordable[]> {
  const left = new Set(files.map(({ path }) => path));
  const failed: Unrecordable[] = [];
  const passedOver = new Set(excluded);
  const silenced = new Set<string>();
  for (let isSparse = true; ;) {
    const said = await tryAdd(run, [':/'], passedOver, silenced, isSparse);
    if (said === undefined) return failed;
    if (isSparse && said.includes("unknown option `sparse'")) {
      isSparse = false;
      continue;
    }
    const found = (await blame(run, said, left)).filter(({ path }) => !passedOver.has(path));
    for (const { path, reason, filter } of found) {
      passedOver.add(path);
      if (filter !== undefined) silenced.add(filter);
      // A path that is not in the list is as in the index: git has only compared it again.
      if (left.delete(path)) failed.push({ path, reason });
    }
    // After an error git has added everything else; after a fatal error it has added nothing.
    if (!/^fatal: /m.test(said) && found.length > 0) return failed;
    if (found.length === 0 || failed.length > MAX_FAILURES) throw new GitFailed(['add'], said);
  }
}

/** git matches each path of the index with each that is named. */
const MAX_NAMED = 100;

/**
 * Adds a few changes to an index by their paths, in a fraction of the time of {@link addChanges}: git does not look at all
 * files again.
 *
 * @returns false if there are many, or git failed at one: all changes have to be added then
 */
export async function addNamed(run: IndexRun, paths: readonly string[], excluded: readonly string[]): Promise<boolean> {
  if (paths.length === 0) return true;
  if (paths.length > MAX_NAMED || excluded.length > MAX_NAMED) return false;
  const named = paths.map((path) => `:(top,literal)${path}`);
  return (await tryAdd(run, named, excluded, [], true)) === undefined;
}

/** @returns the stderr of git if it failed */
async function tryAdd(
  run: IndexRun,
  named: readonly string[],
  excluded: Iterable<string>,
  silenced: Iterable<string>,
  isSparse: boolean,
): Promise<string | undefined> {
  const unset: string[] = [];
  for (const name of silenced) unset.push(...(await silence(run, name)));
  const settings = [...run.settings, streamed, ...rules, ...unset, 'advice.addEmbeddedRepo=false'];
  const options = ['--all', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul'];
  const pathspecs = [...named, ...[...excluded].map((path) => `:(top,exclude,literal)${path}`)];
  const input = Buffer.from(`${pathspecs.join('\0')}\0`, 'latin1');
  try {
    await runGit({ ...run, settings, args: ['add', ...options, ...(isSparse ? ['--sparse'] : [])], input });
    return undefined;
  } catch (error) {
    if (error instanceof GitFailed) return error.said;
    throw error;
  }
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

/** Finds the files on which git failed, by the names in its stderr. */
async function blame(run: IndexRun, said: string, files: ReadonlySet<string>): Promise<Failure[]> {
  const [, filter] = /^fatal: .*: clean filter '(.+)' failed$/m.exec(said) ?? [];
  if (filter !== undefined) return withFilters(run, files, [filter]);
  const lines = said.split('\n').filter((line) => /^(?:error|fatal): /.test(line));
  const found = [...files].flatMap((path) => {
    // stderr was decoded as UTF-8.
    const name = Buffer.from(path, 'latin1').toString();
    const line = lines.find((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`));
    return line === undefined ? [] : [{ path, reason: `cannot be added: ${line.replace(/^\w+: /, '')}` }];
  });
  // git does not name the file if a long-running filter ends.
  return found.length > 0 ? found : withFilters(run, files, await requiredFilters(run));
}

/** The given and tracked files whose attribute `filter` is one of the failing filters. */
async function withFilters(run: IndexRun, files: ReadonlySet<string>, filters: readonly string[]): Promise<Failure[]> {
  const tracked = await runGit({ ...run, args: ['ls-files', '-z'] });
  const input = Buffer.concat([Buffer.from([...files].map((path) => `${path}\0`).join(''), 'latin1'), tracked]);
  const printed = await runGit({ ...run, args: ['check-attr', '-z', '--stdin', 'filter'], input });
  const fields = printed.toString('latin1').split('\0');
  return fields.flatMap((path, at) => {
    const filter = fields[at + 2];
    if (at % 3 !== 0 || filter === undefined || !filters.includes(filter)) return [];
    const reason = `needs the filter '${filter}', which fails; see 'git config --get-regexp filter.${filter}', or ignore it`;
    return [{ path, reason, filter }];
  });
}
