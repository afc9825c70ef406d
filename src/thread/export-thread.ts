import { pointer } from '../cas/canonical.ts';
import { nodesBehind, readCommitNodes, readNodeAt } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import { getNode, type NodeSource } from '../cas/node.ts';
import type { Signature } from '../git/format/objects.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import type { ThreadStart, ThreadSuspend } from '../schema/built-in/thread-start.ts';
import { CAS_KEY, findLinks } from '../schema/find-links.ts';
import { payloadOf } from '../schema/built-in.ts';
import { schemaOfMeta } from '../schema/links.ts';
import { readChain } from './thread-chain.ts';
import { personOf, type ThreadCommit } from './thread-commit.ts';
import type { ThreadId } from './thread-id.ts';

/** A line that carries a node. */
export type ExportedNode = { node: NodeHash; type: NodeHash; payload: JsonValue };

/** A line with a commit: the paths of its nodes, and all other content of the commit. */
export type ExportedCommit = {
  commit: ObjectId;
  parents: ObjectId[];
  author: Signature;
  committer: Signature;
  message: string;
  files: Record<string, NodeHash>;
};

/**
 * Writes a thread as JSON lines, without their line ends: its rows, and with `withNodes` all nodes and commits that an import
 * needs, also those of threads that it called, was forked from or links to. Each comes once, and after those that it refers
 * to. The last line is the thread's head.
 *
 * The same thread gives the same lines. Commits and files of the user's code are named and not written.
 * @throws {CorruptThread} if the thread cannot be read
 */
export async function* exportThread(
  repository: Repository,
  { id, head }: { id: ThreadId; head: ObjectId },
  options: { withNodes?: boolean } = {},
): AsyncGenerator<string, void, void> {
  for await (const row of threadRows(repository, id, head)) yield JSON.stringify(row);
  if (options.withNodes !== true) return;
  const written = new Set<NodeHash>();
  for await (const commit of commitsBehind(repository, head)) {
    const { entries = [] } = await readCommitNodes(repository, commit);
    for (const entry of entries) {
      if (written.has(entry.hash)) continue;
      written.add(entry.hash);
      const { type, payload } = await readNodeAt(repository, entry);
      const line: ExportedNode = { node: entry.hash, type, payload };
      yield JSON.stringify(line);
    }
    yield JSON.stringify(await commitLine(repository, commit, entries));
  }
}

async function commitLine(
  repository: Repository,
  id: ObjectId,
  entries: readonly { path: string; hash: NodeHash }[],
): Promise<ExportedCommit> {
  const { parents, author, committer, message } = await readCommit(repository.objects, id);
  const files = Object.fromEntries(entries.map(({ path, hash }) => [path, hash]));
  return { commit: id, parents, author, committer, message, files };
}

/** The commits of threads that a head reaches, each once, parents before children, the head last. */
async function* commitsBehind(repository: Repository, head: ObjectId): AsyncGenerator<ObjectId, void, void> {
  const done = new Set<ObjectId>();
  const pending = [head];
  for (let id = pending.at(-1); id !== undefined; id = pending.at(-1)) {
    const { parents, entries } = done.has(id) ? { parents: [], entries: [] } : await readCommitNodes(repository, id);
    const open = entries === undefined ? [] : parents.filter((parent) => !done.has(parent));
    if (open.length > 0) {
      pending.push(...open.toReversed());
      continue;
    }
    pending.pop();
    if (done.has(id)) continue;
    done.add(id);
    if (entries !== undefined) yield id;
  }
}

/** A reference, wherever one stands in a row. */
type CasPointer = { [CAS_KEY]: NodeHash };

/**
 * One row of an exported thread: its beginning (`__start__`), a role's turn, a turn that was suspended (`__suspend__`), a
 * person's word that it may go on (`__resume__`), or its end (`__end__`).
 */
export type ThreadRow = {
  role: string;
  /** The prompt, the reply, what was said before the suspension, the answer, or the summary; '' where nothing was said. */
  content: CasPointer | '';
  /**
   * Of `__start__`: the thread, its workflow's name and hash, depth and limits. Of `__end__`: outcome and returnCode. Of a
   * turn: what the role reported, every link in it as an inline pointer. Of `__suspend__` and `__resume__`: see
   * docs/format.md.
   */
  meta: JsonObject;
  /** In ms since 1970. */
  timestamp: number;
  /** The person who said it, as `name <email>`; absent for agents and rules. */
  by?: string;
};

/** The rows of a thread, oldest first. One that has not ended has no `__end__`. */
export async function* threadRows(
  repository: Repository,
  id: ThreadId,
  head: ObjectId,
): AsyncGenerator<ThreadRow, void, void> {
  const commits: ThreadCommit[] = [];
  for await (const commit of readChain(repository, head)) commits.push(commit);
  const source = nodesBehind(repository, [head]);
  for (const commit of commits.toReversed()) {
    const by = personOf(commit);
    yield { ...(await rowOf(commit, id, source)), ...(by !== undefined && { by }) };
  }
}

async function rowOf(commit: ThreadCommit, id: ThreadId, source: NodeSource): Promise<ThreadRow> {
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
    case 'suspend': {
      const { content, suspendedAtMs } = commit.node;
      const meta = await suspendMeta(commit.hash, commit.node, source);
      return { role: '__suspend__', content: pointerTo(content) ?? '', meta, timestamp: suspendedAtMs };
    }
    case 'resume': {
      const { suspension, answer, resumedAtMs, more } = commit.node;
      const meta = { suspension: { [CAS_KEY]: suspension }, ...(more && { more: { ...more } }) };
      return { role: '__resume__', content: pointerTo(answer) ?? '', meta, timestamp: resumedAtMs };
    }
  }
}

async function suspendMeta(hash: NodeHash, node: ThreadSuspend, source: NodeSource): Promise<JsonObject> {
  const { role, reason, cause, due, rule, agent, agentVersion, prompt, react, usage } = node;
  const attempts: JsonObject[] = [];
  for (const attempt of node.attempts) {
    const { content, errors, usage: used, interrupted } = payloadOf(await getNode(source, attempt), 'attempt');
    const links = { attempt: { [CAS_KEY]: attempt }, content: { [CAS_KEY]: content } };
    attempts.push({ ...links, errors, usage: used, ...(interrupted && { interrupted }) });
  }
  return {
    suspension: { [CAS_KEY]: hash },
    role,
    reason,
    cause,
    ...(due !== undefined && { due }),
    rule,
    agent: { [CAS_KEY]: agent },
    ...(agentVersion !== undefined && { agentVersion }),
    prompt: { [CAS_KEY]: prompt },
    react: pointerTo(react) ?? null,
    attempts,
    usage,
  };
}

function pointerTo(hash: NodeHash | null): CasPointer | undefined {
  return hash === null ? undefined : { [CAS_KEY]: hash };
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
  const visitMembers = (object: JsonObject, path: (string | number)[]): JsonObject =>
    Object.fromEntries(Object.entries(object).map(([key, member]) => [key, visit(member, [...path, key])]));
  return visitMembers(meta, []);
}
