import { failedFilter, plainIndex, type ChangedFile, type IndexRun, type Unrecordable } from './find-changes.ts';
import { GitFailed, runGit } from './run-git.ts';

/** New files are streamed into one pack that git syncs, instead of into a file each. */
export const streamed: readonly string[] = ['-c', 'core.bigFileThreshold=1'];
/**
 * Line ends that would not come back the same keep nothing from being recorded; names that other file systems take for
 * `.git` are not recorded, since nobody could fetch them.
 */
const rules = ['-c', 'core.safecrlf=false', '-c', 'core.protectNTFS=true', '-c', 'core.protectHFS=true'];

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
  for (let isSparse = true; ;) {
    const said = await tryAdd(run, [...excluded, ...failed.map(({ path }) => path)], isSparse);
    if (said === undefined) return failed;
    if (isSparse && said.includes("unknown option `sparse'")) {
      isSparse = false;
      continue;
    }
    const found = await blame(run, said, left);
    failed.push(...found);
    for (const { path } of found) left.delete(path);
    // Everything else was added where git went on after an error, and nothing where it stopped.
    if (!/^fatal: /m.test(said) && found.length > 0) return failed;
    if (found.length === 0 || failed.length > MAX_FAILURES) throw new GitFailed(['add'], said);
  }
}

/** @returns what git says if it failed */
async function tryAdd(run: IndexRun, excluded: readonly string[], isSparse: boolean): Promise<string | undefined> {
  const config = [...streamed, ...plainIndex, ...rules, '-c', 'advice.addEmbeddedRepo=false'];
  const options = ['--all', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul'];
  const pathspecs = [':/', ...excluded.map((path) => `:(top,exclude,literal)${path}`)];
  const input = Buffer.from(`${pathspecs.join('\0')}\0`, 'latin1');
  try {
    await runGit({ ...run, args: [...config, 'add', ...options, ...(isSparse ? ['--sparse'] : [])], input });
    return undefined;
  } catch (error) {
    if (error instanceof GitFailed) return error.said;
    throw error;
  }
}

/** Finds out which files git failed on, by the names in what it says. */
async function blame(run: IndexRun, said: string, files: ReadonlySet<string>): Promise<Unrecordable[]> {
  const failure = failedFilter(said);
  if (failure !== undefined) {
    const { path: first, filter } = failure;
    const reason = `needs the filter '${filter}', which fails; see 'git config filter.${filter}.clean', or ignore it`;
    const paths = new Set([Buffer.from(first).toString('latin1'), ...(await withFilter(run, files, filter))]);
    return [...paths].map((path) => ({ path, reason }));
  }
  const lines = said.split('\n').filter((line) => /^(?:error|fatal): /.test(line));
  return [...files].flatMap((path) => {
    // What git says was read as UTF-8.
    const name = Buffer.from(path, 'latin1').toString();
    const line = lines.find((text) => text.includes(`'${name}'`) || text.includes(`"${name}"`));
    return line === undefined ? [] : [{ path, reason: `cannot be added: ${line.replace(/^\w+: /, '')}` }];
  });
}

/** Those of some files that the attribute `filter` gives to one filter. */
async function withFilter(run: IndexRun, files: ReadonlySet<string>, filter: string): Promise<string[]> {
  const input = Buffer.from([...files].map((path) => `${path}\0`).join(''), 'latin1');
  const printed = await runGit({ ...run, args: [...plainIndex, 'check-attr', '-z', '--stdin', 'filter'], input });
  const fields = printed.toString('latin1').split('\0');
  return fields.filter((_, at) => at % 3 === 0 && fields[at + 2] === filter);
}
