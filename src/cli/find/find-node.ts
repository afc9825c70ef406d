import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup.ts';
import type { Repository } from '../../git/repository.ts';
import { builtIn, isTypeName, typeNames } from '../../schema/built-in.ts';
import { SCHEMA_REFS } from '../../schema/put.ts';
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

/**
 * Finds the node that the first characters of a hash mean; a whole hash is taken as it is.
 *
 * @param isMeant which nodes are candidates; default: all
 * @throws {UsageError} if no node's hash begins so, or several do
 * @throws {InvalidNodeHash} if no hash can begin so
 */
export async function findHash(
  repository: Repository,
  text: string,
  isMeant: (hash: NodeHash) => Promise<boolean> = () => Promise.resolve(true),
): Promise<NodeHash> {
  const upper = text.toUpperCase();
  if (isNodeHash(upper)) return upper;
  const matches: NodeHash[] = [];
  for (const hash of await repositoryNodes(repository).findByPrefix(upper)) {
    if (await isMeant(hash)) matches.push(hash);
  }
  const [first, second] = matches;
  if (first === undefined) throw new UsageError(`no node here has a hash that begins with '${text}'`);
  if (second === undefined) return first;
  const some = matches.slice(0, 5).join(', ');
  throw new UsageError(`'${text}' could be any of ${matches.length} nodes: ${some}`, 'give more characters');
}
