import { nodesBehind } from '../../cas/history-nodes.ts';
import { pointer } from '../../cas/canonical.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { getNode, type NodeSource } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { CAS_KEY, findLinks } from '../../schema/links.ts';
import { schemaOfMeta } from '../../schema/type-schema.ts';
import { readChain } from '../chain.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import { payloadOf } from '../../schema/payload-of.ts';

/** A reference, wherever one stands in a row. */
export type CasPointer = { [CAS_KEY]: NodeHash };

/** One row of an exported thread: its beginning (`__start__`), a role's turn, or its end (`__end__`). */
export type ThreadRow = {
  role: string;
  /** The prompt, the reply, or the summary. */
  content: CasPointer;
  /**
   * Of `__start__`: the thread, its workflow's name and hash, depth and limits. Of `__end__`: outcome and returnCode. Of a
   * turn: what the role reported, every link in it as an inline pointer.
   */
  meta: JsonObject;
  /** In ms since 1970. */
  timestamp: number;
};

/** The rows of a thread, oldest first. One that has not ended has no `__end__`. */
export async function* threadRows(
  repository: Repository,
  id: ThreadId,
  head: ObjectId,
): AsyncGenerator<ThreadRow, void, void> {
  const commits: ThreadCommit[] = [];
  for await (const commit of readChain(repository, head)) commits.unshift(commit);
  const source = nodesBehind(repository, [head]);
  for (const commit of commits) {
    const row = await rowOf(commit, id, source);
    if (row !== undefined) yield row;
  }
}

async function rowOf(commit: ThreadCommit, id: ThreadId, source: NodeSource): Promise<ThreadRow | undefined> {
  switch (commit.kind) {
    case 'start': {
      const { prompt, startedAtMs } = commit.node;
      const meta = await startMeta(commit.node, id, source);
      return { role: '__start__', content: { [CAS_KEY]: prompt }, meta, timestamp: startedAtMs };
    }
    case 'step': {
      const { role, content, meta, completedAtMs } = commit.node;
      const schema = await schemaOfMeta(source, commit.node);
      const inlined = inlineLinks(schema ?? true, meta);
      return { role, content: { [CAS_KEY]: content }, meta: inlined, timestamp: completedAtMs };
    }
    case 'end': {
      const { summary, outcome, returnCode, completedAtMs } = commit.node;
      const meta = { outcome, returnCode };
      return { role: '__end__', content: { [CAS_KEY]: summary }, meta, timestamp: completedAtMs };
    }
    default:
      return undefined;
  }
}

async function startMeta(start: ThreadStart, id: ThreadId, source: NodeSource): Promise<JsonObject> {
  const workflow = payloadOf(await getNode(source, start.workflow), 'workflow');
  const { depth, limits = null } = start;
  return { thread: id, workflow: workflow.name, hash: { [CAS_KEY]: start.workflow }, depth, limits };
}

/** A step's meta in which every link is an inline pointer, also those that its schema says are links. */
function inlineLinks(schema: JsonValue, meta: JsonObject): JsonObject {
  const links = new Map(findLinks(schema, meta).map(({ path, hash }) => [path, hash]));
  const visit = (value: JsonValue, path: (string | number)[]): JsonValue => {
    if (Array.isArray(value)) return value.map((item, place) => visit(item, [...path, place]));
    if (isJsonObject(value)) return visitMembers(value, path);
    const hash = links.get(pointer(path));
    return hash === undefined ? value : { [CAS_KEY]: hash };
  };
  const visitMembers = (object: JsonObject, path: (string | number)[]): JsonObject => {
    const isPointer = links.get(pointer(path)) !== undefined;
    return Object.fromEntries(
      Object.entries(object).map(([key, member]) => [
        key,
        isPointer && key === CAS_KEY ? member : visit(member, [...path, key]),
      ]),
    );
  };
  return visitMembers(meta, []);
}
