import { plainIndex, requiredFilters, type ChangedFile, type IndexRun, type Unrecordable } from './find-changes.ts';
import { GitFailed, runGit } from './run-git.ts';

/** New files are streamed into one pack that git syncs, instead of into a file each. */
export const streamed: readonly string[] = ['-c', 'core.bigFileThreshold=1'];
/**
 * Line ends that would not come back the same keep nothing from being recorded; names that other file systems take for
 * `.git` are not recorded, since nobody could fetch them.
 */
const rules = ['-c', 'core.safecrlf=false', '-c', 'core.protectNTFS=true', '-c', 'core.protectHFS=true'];

type Failure = Unrecordable & { filter?: string };

/** After so many failures of git that name a path, the rest is not tried. */
const MAX_FAILURES = 100;

/**
 * Adds all that differs from an index to it, but for what is excluded. What git fails on is left as it stands in the
 * index, and the rest is added.
 *
 * @param files what is to be added
 * @param excluded paths in Latin-1
 * @returns what git failed on
 * @throws {GitFailed} if it fails and does not say on what
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
    const said = await tryAdd(run, passedOver, silenced, isSparse);
    if (said === undefined) return failed;
    if (isSparse && said.includes("unknown option `sparse'")) {
      isSparse = false;
      continue;
    }
    const found = (await blame(run, said, left)).filter(({ path }) => !passedOver.has(path));
    for (const { path, reason, filter } of found) {
      passedOver.add(path);
      if (filter !== undefined) silenced.add(filter);
      // What is not to be added is as in the index: git has only compared it again.
      if (left.delete(path)) failed.push({ path, reason });
    }
    // Everything else was added where git went on after an error, and nothing where it stopped.
    if (!/^fatal: /m.test(said) && found.length > 0) return failed;
    if (found.length === 0 || failed.length > MAX_FAILURES) throw new GitFailed(['add'], said);
  }
}

/** @returns what git says if it failed */
async function tryAdd(
  run: IndexRun,
  excluded: Iterable<string>,
  silenced: Iterable<string>,
  isSparse: boolean,
): Promise<string | undefined> {
  const unset: string[] = [];
  for (const name of silenced) unset.push(...(await silence(run, name)));
  const config = [...streamed, ...plainIndex, ...rules, ...unset, '-c', 'advice.addEmbeddedRepo=false'];
  const options = ['--all', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul'];
  const pathspecs = [':/', ...[...excluded].map((path) => `:(top,exclude,literal)${path}`)];
  const input = Buffer.from(`${pathspecs.join('\0')}\0`, 'latin1');
  try {
    await runGit({ ...run, args: [...config, 'add', ...options, ...(isSparse ? ['--sparse'] : [])], input });
    return undefined;
  } catch (error) {
    if (error instanceof GitFailed) return error.said;
    throw error;
  }
}

/**
 * Takes a filter that fails away. No file that has it is added, but git compares those that are as old as the index when
 * it writes that. A file that comes only now is recorded as empty; with a filter that runs all the time, as it is.
 */
async function silence(run: IndexRun, name: string): Promise<string[]> {
  const isLasting = await runGit({ ...run, args: ['config', '--get', `filter.${name}.process`] }).then(
    () => true,
    () => false,
  );
  const instead = isLasting ? ['process=', 'required=false'] : ['clean=cat >/dev/null'];
  return instead.flatMap((pair) => ['-c', `filter.${name}.${pair}`]);
}

/** Finds out which files git failed on, by the names in what it says. */
async function blame(run: IndexRun, said: string, files: ReadonlySet<string>): Promise<Failure[]> {
  const [, filter] = /^fatal: .*: clean filter '(.+)' failed$/m.exec(said) ?? [];
  if (filter !== undefined) return withFilters(run, files, [filter]);
  const lines = said.split('\n').filter((line) => /^(?:error|fatal): /.test(line));
  const found = [...files].flatMap((path) => {
    // What git says was read as UTF-8.
    const name = Buffer.from(path, 'latin1').toString();
    const line = lines.find((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`));
    return line === undefined ? [] : [{ path, reason: `cannot be added: ${line.replace(/^\w+: /, '')}` }];
  });
  // Of a filter that runs all the time git says only that it hung up.
  return found.length > 0 ? found : withFilters(run, files, await requiredFilters(run));
}

/** Those of some files, and of all that are tracked, that the attribute `filter` gives to one of some filters, which fail. */
async function withFilters(run: IndexRun, files: ReadonlySet<string>, filters: readonly string[]): Promise<Failure[]> {
  const tracked = await runGit({ ...run, args: [...plainIndex, 'ls-files', '-z'] });
  const input = Buffer.concat([Buffer.from([...files].map((path) => `${path}\0`).join(''), 'latin1'), tracked]);
  const printed = await runGit({ ...run, args: [...plainIndex, 'check-attr', '-z', '--stdin', 'filter'], input });
  const fields = printed.toString('latin1').split('\0');
  return fields.flatMap((path, at) => {
    const filter = fields[at + 2];
    if (at % 3 !== 0 || filter === undefined || !filters.includes(filter)) return [];
    const reason = `needs the filter '${filter}', which fails; see 'git config --get-regexp filter.${filter}', or ignore it`;
    return [{ path, reason, filter }];
  });
}
