import { formatGitVariables, type GitVariable } from '../process/git-variables.ts';
import type { ObjectFormat } from '../format/object-id.ts';
import type { GitEnvironment } from '../repository.ts';

type Setting = Pick<GitVariable, 'name' | 'value'>;

/** The defaults of git that decide what a merge gives. They are written down because they change between its versions. */
const defaults: Readonly<Record<string, string>> = {
  'merge.renames': 'true',
  'merge.directoryrenames': 'conflict',
  'merge.renamelimit': '7000',
  'merge.conflictstyle': 'merge',
  'merge.renormalize': 'false',
  'diff.algorithm': 'histogram',
  // Decides which patterns of attributes match.
  'core.ignorecase': 'false',
  'core.attributesfile': '/dev/null',
};

/** The whole configuration of a repository in which trees are merged. */
export function mergeConfiguration(format: ObjectFormat, drivers: readonly Setting[]): string {
  const settings = Object.entries({
    'core.repositoryformatversion': '1',
    ...(format !== 'sha1' && { 'extensions.objectformat': format }),
    ...defaults,
  }).map(([name, value]) => ({ name, value }));
  return formatGitVariables([...settings, ...drivers]);
}

/** The variable that names the file which a driver makes when it runs. */
const ranVariable = 'UWF_MERGE_DRIVER_RAN';

/**
 * The configured merge drivers; each notes first that it runs.
 *
 * Source: gitattributes(5), "Defining a custom merge driver": a shell runs it.
 */
export function notingDrivers(variables: readonly GitVariable[]): Setting[] {
  return variables.flatMap(({ name, value }) =>
    /^merge\..+\.driver$/s.test(name) && value !== undefined ? [{ name, value: `: >"$${ranVariable}"; ${value}` }] : [],
  );
}

/**
 * The environment of a merge: no variable of git's that changes what it reads, and no configuration or attributes of the user
 * and the system.
 *
 * @param driverRan the file that a driver makes when it runs
 */
export function mergeEnvironment(env: GitEnvironment, driverRan: string): GitEnvironment {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('GIT_') || name === 'GIT_EXEC_PATH');
  return {
    ...Object.fromEntries(others),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    [ranVariable]: driverRan,
  };
}
