import { UwfError } from '../../errors.ts';
import { findConfigEntry } from '../format/config.ts';
import type { ConfigEntry } from '../format/config.ts';
import type { ObjectFormat } from '../format/object-id.ts';

/** A repository in an unsupported format. It was not changed. */
export function unsupportedRepository(path: string, feature: string, hint: string): UwfError {
  return new UwfError(`the repository ${path} uses ${feature}, which is not spoken here; nothing was changed`, {
    code: 'unsupported-repository',
    kind: 'environment',
    hint,
    facts: { path, feature },
  });
}

const ordinaryClone = 'work in a clone of the ordinary format (sha1 objects, files as refs)';
const filesAsRefs = "run 'git refs migrate --ref-format=files', or work in a clone of the ordinary format";

/** Extensions that do not change how objects and refs are read and written. A partial clone lacks objects, and has no others. */
const harmless = new Set(['noop', 'noop-v1', 'partialclone', 'preciousobjects', 'worktreeconfig', 'relativeworktrees']);

/** The format in which a repository stores objects and refs. */
export type RepositoryFormat = {
  objects: ObjectFormat;
  refs: 'files' | 'reftable';
};

/**
 * Reads a repository's format from its configuration.
 *
 * Stricter than git in one point: an unknown extension is refused in version 0 too, where git ignores it.
 * @param path the repository's folder, for the message
 * @throws {UwfError} `unsupported-repository` naming the feature
 * Source: git's Documentation/technical/repository-version.txt and `check_repo_format` (setup.c).
 */
export function readRepositoryFormat(entries: readonly ConfigEntry[], path: string): RepositoryFormat {
  const version = findConfigEntry(entries, 'core.repositoryformatversion')?.value ?? '0';
  if (version !== '0' && version !== '1') {
    throw unsupportedRepository(path, `repositoryFormatVersion ${version}`, ordinaryClone);
  }
  const format: RepositoryFormat = { objects: 'sha1', refs: 'files' };
  for (const { name, value = 'true' } of entries) {
    if (name.startsWith('extensions.')) readExtension(name.slice('extensions.'.length), value, format, path);
  }
  return format;
}

function readExtension(key: string, value: string, format: RepositoryFormat, path: string): void {
  if (key === 'objectformat' && (value === 'sha1' || value === 'sha256')) format.objects = value;
  else if (key === 'refstorage' && (value === 'files' || value === 'reftable')) format.refs = value;
  else if (key === 'objectformat') throw unsupportedRepository(path, `objectFormat ${value}`, ordinaryClone);
  else if (key === 'refstorage') throw unsupportedRepository(path, `refStorage ${value}`, filesAsRefs);
  else if (key === 'compatobjectformat') {
    throw unsupportedRepository(path, `compatObjectFormat ${value}`, ordinaryClone);
  } else if (!harmless.has(key)) throw unsupportedRepository(path, `the extension '${key}'`, ordinaryClone);
}

/**
 * Checks that a format is the ordinary one, for stores that support no other.
 *
 * @param need what would open the repository, if anything would
 * @throws {UwfError} `unsupported-repository` naming the feature
 */
export function assertOrdinaryFormat({ objects, refs }: RepositoryFormat, path: string, need?: string): void {
  const hint = (otherwise: string): string => (need === undefined ? otherwise : `${need}; or ${otherwise}`);
  if (objects !== 'sha1') throw unsupportedRepository(path, `objectFormat ${objects}`, hint(ordinaryClone));
  if (refs !== 'files') throw unsupportedRepository(path, `refStorage ${refs}`, hint(filesAsRefs));
}
