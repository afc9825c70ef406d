import type { NodeHash } from '../../cas/hash.ts';
import type { NodeSource } from '../../cas/node-source.ts';
import { UwfError } from '../../errors.ts';
import { typeNameOf } from '../built-in.ts';
import type { Link } from './find-links.ts';

/** A node links to a node that does not exist where it would have to. */
export class DanglingLink extends UwfError {
  /** Where the link stands in the payload, as a JSON pointer. */
  readonly path: string;
  constructor(hash: NodeHash, path: string) {
    super(`the link at ${path || 'the top'} leads nowhere: there is no node ${hash}`, {
      code: 'dangling-link',
      kind: 'data',
      hint: "put the node first ('uwf cas put'), or check the hash",
      facts: { hash },
    });
    this.path = path;
  }
}

/** A node links to a node of a type that is not allowed there. */
export class WrongLinkType extends UwfError {
  /** As in {@link DanglingLink}. */
  readonly path: string;
  /**
   * @param actual the type of the node that is linked to
   * @param expected the types allowed: names of built-in ones, or hashes
   */
  constructor({ hash, path }: Link, actual: NodeHash, expected: readonly string[]) {
    const is = typeNameOf(actual) ?? `a node of type ${actual}`;
    super(`the link at ${path || 'the top'} has to lead to ${expected.join(' or ')}, but ${hash} is ${is}`, {
      code: 'wrong-link-type',
      kind: 'data',
      facts: { hash, actual, expected },
    });
    this.path = path;
  }
}

/**
 * Checks that everything a node links to exists and is of the type its schema asks for.
 *
 * @param links of the node, as `linksOf` finds them
 * @returns what is wrong, in the order of the links; an empty list means nothing
 */
export async function checkLinks(
  source: NodeSource,
  links: readonly Link[],
): Promise<(DanglingLink | WrongLinkType)[]> {
  const problems: (DanglingLink | WrongLinkType)[] = [];
  for (const link of links) {
    const type = (await source.find(link.hash))?.type;
    if (type === undefined) problems.push(new DanglingLink(link.hash, link.path));
    // The name of a built-in type, or the hash of a registered one.
    else if (link.types?.every((allowed) => allowed !== type && allowed !== typeNameOf(type))) {
      problems.push(new WrongLinkType(link, type, link.types));
    }
  }
  return problems;
}

/**
 * As {@link checkLinks}, for callers that do not go on.
 *
 * @throws {DanglingLink} {WrongLinkType} the first of them
 */
export async function assertLinks(source: NodeSource, links: readonly Link[]): Promise<void> {
  const [problem] = await checkLinks(source, links);
  if (problem !== undefined) throw problem;
}
