import { isNodeHash, type NodeHash } from '../../cas/hash.ts';
import { repositoryNodes } from '../../cas/lookup.ts';
import type { NodeSource, StoredNode } from '../../cas/node.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject } from '../../json.ts';
import { builtIn, isTypeName, typeNameOf, typeNames } from '../../schema/built-in.ts';
import { SCHEMA_REFS } from '../../schema/put.ts';
import { firstLine } from '../../thread/commit-message.ts';
import { threadCas, type ThreadCas } from '../../thread/thread-cas.ts';
import type { TextOption } from '../command-line/command.ts';
import { hintAtName, UsageError } from '../errors/exit-code.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** Finds the type that a text names: one of uwf's own by its name, any other by its hash or the first characters of it. */
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

/** Finds the node that the first characters of a hash mean, among those that `isMeant`; a whole hash is taken as it is. */
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

export const threadOption: TextOption = {
  short: 't',
  value: '<thread>',
  summary: 'work in the store of this thread; by default $UWF_THREAD, else the whole repository',
  candidates: 'thread',
};

type NodeScope = {
  /** The store of the thread; `undefined` for the whole repository. */
  cas: ThreadCas | undefined;
  nodes: NodeSource;
  /** The hash that a text means: a whole one, or its first characters. */
  find: (text: string) => Promise<NodeHash>;
};

/** The nodes that a command works on: those of the thread that is named or that an agent works in, else all. */
export function nodeScope(cli: CliEnvironment, repository: Repository, thread: string | undefined): NodeScope {
  const id = thread ?? (cli.env['UWF_THREAD'] || undefined);
  const cas = id === undefined ? undefined : threadCas(repository, id);
  const nodes = cas ?? repositoryNodes(repository);
  return {
    cas,
    nodes,
    find: (text) =>
      findHash(repository, text, async (hash) => cas === undefined || (await cas.find(hash)) !== undefined),
  };
}

/** The text of a content node; `undefined` for every other node. */
export function contentText(node: Pick<StoredNode, 'type' | 'payload'>): string | undefined {
  if (node.type !== builtIn.content || !isJsonObject(node.payload)) return undefined;
  return typeof node.payload['text'] === 'string' ? node.payload['text'] : undefined;
}

/** The name of a node's type where it is one of uwf's own, else its hash. */
export function nameOfType(node: Pick<StoredNode, 'type'>): string {
  return typeNameOf(node.type) ?? node.type;
}

function titleOf(node: Pick<StoredNode, 'type' | 'payload'>): string {
  const text = contentText(node);
  if (text !== undefined) return firstLine(text);
  const { payload } = node;
  const named = isJsonObject(payload) ? (payload['name'] ?? payload['title'] ?? payload['role']) : undefined;
  return typeof named === 'string' ? named : JSON.stringify(payload).slice(0, 200);
}

export const nodeFields: Readonly<Record<keyof NodeRow, string>> = {
  hash: "the node's hash",
  oid: 'the git object that it lies in',
  type: "its type's name or hash",
  title: 'one line of what it holds',
};

export type NodeRow = { hash: string; oid: string; type: string; title: string };

export function nodeRow(node: StoredNode): NodeRow {
  return { hash: node.hash, oid: node.oid, type: nameOfType(node), title: titleOf(node) };
}
