import { UwfError } from '../errors.ts';
import { configBoolean, findConfigEntry } from './config.ts';
import type { ConfigEntry } from './config.ts';

/** A repository in a format that uwf does not read or write. It was not touched. */
export class UnsupportedRepository extends UwfError {
  readonly path: string;
  /** What is not understood, by its name in git's configuration: `objectFormat sha256`. */
  readonly feature: string;
  constructor(path: string, feature: string, hint: string) {
    super(`the repository ${path} uses ${feature}, which uwf does not speak; nothing was changed`, {
      code: 'unsupported-repository',
      kind: 'environment',
      hint,
    });
    this.path = path;
    this.feature = feature;
  }
}

const ordinaryClone = 'work in a clone of the ordinary format (sha1 objects, files as refs)';

/** Extensions that change nothing about how objects and refs are read and written. */
const harmless = new Set(['noop', 'noop-v1', 'preciousobjects', 'worktreeconfig', 'relativeworktrees']);

/**
 * Checks that the configuration describes a format that uwf understands, before anything is written.
 *
 * Stricter than git in one point: an unknown extension is refused in version 0 too, where git would pass over it.
 * @param path the repository's folder, for the message
 * @throws {UnsupportedRepository} naming the feature
 * Source: git's Documentation/technical/repository-version.txt and `check_repo_format` (setup.c).
 */
export function assertSupportedFormat(entries: readonly ConfigEntry[], path: string): void {
  const version = findConfigEntry(entries, 'core', 'repositoryformatversion')?.value ?? '0';
  if (version !== '0' && version !== '1') {
    throw new UnsupportedRepository(path, `repositoryFormatVersion ${version}`, ordinaryClone);
  }
  for (const entry of entries) {
    if (entry.section === 'extensions') assertSupportedExtension(entry, path);
    // A clone made with --filter lacks objects on purpose; only git knows how to fetch them when they are needed.
    if (entry.section === 'remote' && entry.key === 'promisor' && configBoolean(entry, path) === true) {
      throw new UnsupportedRepository(path, `partialClone of ${entry.subsection}`, fullClone);
    }
  }
}

const fullClone = 'work in a full clone, made without --filter';

function assertSupportedExtension(entry: ConfigEntry, path: string): void {
  const value = entry.value ?? 'true';
  switch (entry.key) {
    case 'objectformat':
      if (value === 'sha1') return;
      throw new UnsupportedRepository(path, `objectFormat ${value}`, ordinaryClone);
    case 'refstorage':
      if (value === 'files') return;
      throw new UnsupportedRepository(
        path,
        `refStorage ${value}`,
        "run 'git refs migrate --ref-format=files', or work in a clone of the ordinary format",
      );
    case 'partialclone':
      throw new UnsupportedRepository(path, `partialClone of ${value}`, fullClone);
    case 'compatobjectformat':
      throw new UnsupportedRepository(path, `compatObjectFormat ${value}`, ordinaryClone);
    default:
      if (harmless.has(entry.key)) return;
      throw new UnsupportedRepository(path, `the extension '${entry.key}'`, ordinaryClone);
  }
}

/** Tells whether each work tree has a configuration of its own (`config.worktree`). */
export function hasWorktreeConfig(entries: readonly ConfigEntry[], path: string): boolean {
  return configBoolean(findConfigEntry(entries, 'extensions', 'worktreeconfig'), path) ?? false;
}
