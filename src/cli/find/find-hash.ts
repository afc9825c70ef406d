import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup.ts';
import type { Repository } from '../../git/repository.ts';
import { UsageError } from '../errors/usage-error.ts';

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
