import type { StoredNode } from '../../cas/node.ts';
import { isJsonObject } from '../../json.ts';
import { builtIn, typeNameOf } from '../../schema/built-in.ts';
import { firstLine } from '../../thread/commit-message.ts';

/** The text of a content node; `undefined` for every other node. */
export function contentText(node: Pick<StoredNode, 'type' | 'payload'>): string | undefined {
  if (node.type !== builtIn.content || !isJsonObject(node.payload)) return undefined;
  return typeof node.payload['text'] === 'string' ? node.payload['text'] : undefined;
}

/** The name of a node's type where it is one of uwf's own, else its hash. */
export function nameOfType(node: Pick<StoredNode, 'type'>): string {
  return typeNameOf(node.type) ?? node.type;
}

/** One line that tells what a node holds. */
function titleOf(node: Pick<StoredNode, 'type' | 'payload'>): string {
  const text = contentText(node);
  if (text !== undefined) return firstLine(text);
  const { payload } = node;
  const named = isJsonObject(payload) ? (payload['name'] ?? payload['title'] ?? payload['role']) : undefined;
  return typeof named === 'string' ? named : JSON.stringify(payload).slice(0, 200);
}

/** The fields of a node under `--json`, where nodes are listed. */
export const nodeFields: Readonly<Record<keyof NodeRow, string>> = {
  hash: "the node's hash",
  oid: 'the git object that it lies in',
  type: "its type's name or hash",
  title: 'one line of what it holds',
};

/** A node as lists show it. */
export type NodeRow = { hash: string; oid: string; type: string; title: string };

export function nodeRow(node: StoredNode): NodeRow {
  return { hash: node.hash, oid: node.oid, type: nameOfType(node), title: titleOf(node) };
}
