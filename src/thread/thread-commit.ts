// The room thread: a thread is a chain of commits, and this file is one of them. `thread-verbs.ts` begins a chain, ends
// and forks it, `append-step.ts` goes on with it, `thread-chain.ts` walks back, and `thread-state.ts` reads from the head
// what the chain comes to. `code` is what a thread changed in its work tree. Steps come in, refs that lead to them go
// out, and what is told of them to people and agents. Another writer may append first: then the step becomes a fork. A
// commit may be missing or damaged: then reading ends with an error that names it.

import { type IndexEntry, type NodeReader, readCommitIndex, readNodeAt } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { Node, StoredNode } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import type { Commit } from '../git/format/objects.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Identity, Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import { builtIn, payloadOf, type TypeName, typeNameOf } from '../schema/built-in.ts';
import { type AgentRecord, isPerson } from '../schema/built-in/workflow.ts';
import type { ThreadEnd, ThreadResume, ThreadStart, ThreadSuspend } from '../schema/built-in/thread-start.ts';
import type { ThreadStep } from '../schema/built-in/thread-step.ts';
import { BeforeFormat, CorruptThread, NewerFormat } from './thread-errors.ts';

/** `kind` names the file of the node. */
export type ThreadCommit = {
  id: ObjectId;
  commit: Commit;
  /** Every node of the tree. */
  index: readonly IndexEntry[];
  /** The hash of `node`. */
  hash: NodeHash;
} & ThreadEvent;

/** The node of a thread's commit. */
export type ThreadEvent =
  | { kind: 'start'; node: ThreadStart }
  | { kind: 'step'; node: ThreadStep }
  | { kind: 'suspend'; node: ThreadSuspend }
  | { kind: 'resume'; node: ThreadResume }
  | { kind: 'end'; node: ThreadEnd };

export type ThreadCommitKind = ThreadEvent['kind'];

/** The type of the node, by the kind of the commit. */
export const fileTypes: Readonly<Record<ThreadCommitKind, TypeName>> = {
  start: 'thread-start',
  step: 'thread-step',
  suspend: 'thread-suspend',
  resume: 'thread-resume',
  end: 'thread-end',
};

/** The file with the text of a commit, by its kind: the prompt, the reply, the answer or the summary. */
export const textPaths: Readonly<Record<ThreadCommitKind, string>> = {
  start: 'prompt.md',
  step: 'output.md',
  suspend: 'output.md',
  resume: 'answer.md',
  end: 'summary.md',
};

/** The text of a commit; null if it has none. */
export function textNodeOf({ kind, node }: ThreadEvent): NodeHash | null {
  switch (kind) {
    case 'start':
      return node.prompt;
    case 'resume':
      return node.answer;
    case 'end':
      return node.summary;
    default:
      return node.content;
  }
}

/** The kind of commit whose node has this path; `undefined` for other files. */
export function kindOfFile(path: string): ThreadCommitKind | undefined {
  const kind = path.endsWith('.json') ? path.slice(0, -'.json'.length) : '';
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- An own key of the record is one of the five.
  return Object.hasOwn(fileTypes, kind) ? (kind as ThreadCommitKind) : undefined;
}

/** Finds the node that makes a commit one of a thread, by its path. */
export function findEventFile<File extends { path: string }>(
  files: readonly File[],
): { file: File; kind: ThreadCommitKind } | undefined {
  for (const file of files) {
    const kind = kindOfFile(file.path);
    if (kind !== undefined) return { file, kind };
  }
  return undefined;
}

/** Checks the hash of the commit's node, too. `known`: the commit, where it has been read already. */
export async function readThreadCommit(repository: NodeReader, id: ObjectId, known?: Commit): Promise<ThreadCommit> {
  const commit = known ?? (await readCommit(repository.objects, id));
  const index = await readCommitIndex(repository, id, commit);
  const found = findEventFile(index);
  if (!found) throw new CorruptThread(id, 'its tree has no start, step, suspend, resume or end node');
  const node = await readNodeAt(repository, found.file);
  return { id, commit, index, hash: found.file.hash, ...eventOf(id, found.kind, node) };
}

/**
 * @throws {NewerFormat} {BeforeFormat} {CorruptThread} as {@link assertKind} does
 * @throws {UnexpectedNode} if it does not have the form of its type
 */
export function eventOf(id: ObjectId, kind: ThreadCommitKind, node: Node): ThreadEvent {
  assertKind(id, kind, node);
  return eventIn(kind, node);
}

/**
 * Parses a node that is about to be the node of a commit.
 * @throws {UnexpectedNode} if it is not of the type of the kind
 */
export function eventIn(kind: ThreadCommitKind, node: Node): ThreadEvent {
  switch (kind) {
    case 'start':
      return { kind, node: payloadOf(node, 'thread-start') };
    case 'step':
      return { kind, node: payloadOf(node, 'thread-step') };
    case 'suspend':
      return { kind, node: payloadOf(node, 'thread-suspend') };
    case 'resume':
      return { kind, node: payloadOf(node, 'thread-resume') };
    case 'end':
      return { kind, node: payloadOf(node, 'thread-end') };
  }
}

/** @throws {NewerFormat} {BeforeFormat} if the node is of a type that this version of uwf does not know */
function assertKind(id: ObjectId, kind: ThreadCommitKind, { type, payload }: Node): void {
  if (type === builtIn[fileTypes[kind]]) return;
  if (typeNameOf(type) === undefined) {
    // What each type of format 1 has, its successors have as well.
    const mark = kind === 'start' ? 'format' : 'totals';
    const isEarly = !isJsonObject(payload) || !Object.hasOwn(payload, mark);
    throw isEarly ? new BeforeFormat(id) : new NewerFormat(id, `${kind}.json`, type);
  }
  throw new CorruptThread(id, `${kind}.json has the type ${type}`);
}

export async function findNodeAt(
  repository: Repository,
  commit: ThreadCommit,
  path: string,
): Promise<StoredNode | undefined> {
  const entry = commit.index.find((candidate) => candidate.path === path);
  return entry && (await readNodeAt(repository, entry));
}

/** Reads the text of a content node that lies in a thread's commit. */
export async function readTextAt(repository: Repository, commit: ThreadCommit, path: string): Promise<string> {
  const node = await findNodeAt(repository, commit, path);
  if (node?.type !== builtIn.content) throw new CorruptThread(commit.id, `${path} is no content node`);
  return payloadOf(node, 'content').text;
}

/** The time of the event that a commit records, in ms since 1970. */
export function timeOfCommit(commit: ThreadEvent): number {
  switch (commit.kind) {
    case 'start':
      return commit.node.startedAtMs;
    case 'suspend':
      return commit.node.suspendedAtMs;
    case 'resume':
      return commit.node.resumedAtMs;
    default:
      return commit.node.completedAtMs;
  }
}

export function statusOf(meta: JsonObject): string | null {
  return typeof meta['$status'] === 'string' ? meta['$status'] : null;
}

/** The folder whose index lists a file: `workflow/`, `children/<role>/`, or the root ''. */
export function indexedFolder(path: string): string {
  return /^(?:workflow|children\/[^/]+)\//.exec(path)?.[0] ?? '';
}

/**
 * The author of a commit: of a turn the role, with the agent as its address. All others are commits of a person, who is the
 * committer; the turn that a person takes is that of who has answered, on whatever machine it is taken.
 * @param role the role of a turn; `undefined` for a commit of another kind
 * @param before the commit before a turn
 */
export function authorOf(
  role: string | undefined,
  agent: AgentRecord | undefined,
  committer: Identity,
  before: Pick<ThreadCommit, 'kind' | 'commit'> | undefined,
): Identity {
  if (role === undefined) return committer;
  if (agent !== undefined && !isPerson(agent)) return { name: role, email: `${pathName(agent.name)}@uwf` };
  return before?.kind === 'resume' ? before.commit.author : committer;
}

/**
 * The person who has decided what a commit says, as `name <email>`: who started or resumed the thread, cancelled it, or took the
 * turn. `undefined` for the turn of an agent, for a suspension, and for an end that rules gave. It is the author that its writer gave.
 */
export function personOf({
  commit: { author },
  ...event
}: ThreadEvent & Pick<ThreadCommit, 'commit'>): string | undefined {
  const person = `${author.name} <${author.email}>`;
  switch (event.kind) {
    case 'start':
      return event.node.parentThread === null ? person : undefined;
    case 'step':
      return author.name === event.node.role && author.email.endsWith('@uwf') ? undefined : person;
    case 'suspend':
      return undefined;
    case 'resume':
      return event.node.by ?? person;
    case 'end':
      return event.node.outcome === 'cancelled' ? person : undefined;
  }
}

export function roleOf(event: ThreadEvent): string | undefined {
  return 'role' in event.node ? event.node.role : undefined;
}
