import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import type { Repository } from '../../git/repository.ts';
import { builtIn, isTypeName, typeNames } from '../../schema/built-in.ts';
import { SCHEMA_REFS } from '../../schema/put.ts';
import { findHash } from './find-hash.ts';
import { hintAtName, UsageError } from '../errors/usage-error.ts';

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
    .filter(isNodeHash)
    .filter((hash) => hash.startsWith(wanted));
  if (matches.length === 1 && matches[0] !== undefined) return matches[0];
  if (wanted.length === 13) return findHash(repository, text);
  throw unknownType(text);
}

function unknownType(text: string): UsageError {
  const hint = hintAtName(text, typeNames, "run 'uwf schema list' to see the types there are");
  return new UsageError(`there is no type '${text}'`, hint);
}
