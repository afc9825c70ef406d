import type { NodeHash } from '../cas/hash.ts';
import type { Repository } from '../git/repository.ts';
import { nearestName } from '../nearest-name.ts';
import { builtIn, typeNames, type TypeName } from '../schema/built-in.ts';
import { SCHEMA_REFS } from '../schema/put-schema.ts';
import { findHash } from './find-hash.ts';
import { UsageError } from './usage-error.ts';

/**
 * Finds the type that a text names: one of uwf's own by its name, any other by its hash or the first characters of it.
 */
export async function findType(repository: Repository, text: string): Promise<NodeHash> {
  if (isTypeName(text)) return builtIn[text];
  if (/[a-z-]/.test(text) && !/^[0-9a-z]+$/i.test(text)) throw unknownType(text);
  const registered = await repository.refs.list(SCHEMA_REFS);
  const wanted = text.toUpperCase();
  const matches = registered
    .map(({ name }) => name.slice(SCHEMA_REFS.length))
    .filter((hash) => hash.startsWith(wanted));
  // Names of these refs are hashes.
  if (matches.length === 1) return matches[0] as NodeHash;
  if (wanted.length === 13) return findHash(repository, text);
  throw unknownType(text);
}

function isTypeName(text: string): text is TypeName {
  return Object.hasOwn(builtIn, text);
}

function unknownType(text: string): UsageError {
  const near = nearestName(text, typeNames);
  return new UsageError(
    `there is no type '${text}'`,
    near === undefined ? "run 'uwf schema list' to see the types there are" : `did you mean '${near}'?`,
  );
}
