import type { NodeHash } from '../cas/hash.ts';
import { type NodeFile, writeNodeTree } from '../cas/node-tree.ts';
import { type EncodedNode, encodeNode } from '../cas/node.ts';
import { cutToFit } from '../cas/canonical.ts';
import { UwfError } from '../errors.ts';
import { type Commit, encodeCommit } from '../git/format/objects.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { ObjectBatch } from '../git/stores/publish.ts';
import type { JsonObject } from '../json.ts';
import { builtIn } from '../schema/built-in.ts';
import type { AgentRecord } from '../schema/built-in/workflow.ts';
import type { Redacted, Usage } from '../schema/built-in/schema-parts.ts';
import { type Beside, messageOfCommit } from './commit-message.ts';
import { authorOf, eventIn, roleOf, type ThreadCommit, type ThreadCommitKind } from './thread-commit.ts';

/** A commit of a thread, to be written. */
export type CommitDraft = {
  kind: ThreadCommitKind;
  /** The node that makes it a thread's commit; its file is named after the kind. */
  node: EncodedNode;
  files: readonly NodeFile[];
  /** Existing trees and files that are added as they are. Folders with nodes have an index of their own. */
  subtrees?: readonly { path: string; mode?: '040000' | '100644'; id: ObjectId }[];
  parents: readonly ObjectId[];
  /** The commit before; `undefined` for a start. */
  before: Pick<ThreadCommit, 'kind' | 'commit'> | undefined;
  atMs: number;
  /** What its message tells beside the node. */
  beside: Beside;
};

/** Makes a commit, and adds its tree to a batch. Writes nothing to the repository. */
export function draftCommit(repository: Repository, batch: ObjectBatch, draft: CommitDraft): Commit {
  const files = [{ path: `${draft.kind}.json`, node: draft.node }, ...draft.files];
  const folders = (draft.subtrees ?? []).map(({ path, id, mode = '040000' }) => ({ path, id, mode }));
  const tree = writeNodeTree(batch, files, folders);
  const { committer } = repository;
  const event = { hash: draft.node.hash, ...eventIn(draft.kind, draft.node) };
  const commit: Commit = {
    tree,
    parents: [...new Set(draft.parents)],
    author: { ...authorOf(roleOf(event), draft.beside.agent, committer, draft.before), atMs: draft.atMs },
    committer: { ...committer, atMs: draft.atMs },
    message: messageOfCommit(event, draft.beside),
  };
  assertCommitFits(commit);
  return commit;
}

/** `refs` are the artifacts of the same turn. */
export function contentNode(text: string, refs: readonly NodeHash[] = []): EncodedNode {
  return encodeNode(builtIn.content, refs.length === 0 ? { text } : { text, refs: [...refs] });
}

export function agentNode(agent: AgentRecord): EncodedNode {
  return encodeNode(builtIn.agent, agent);
}

/** A try that came to nothing, as the engine hands it over: a rejected reply, or one that was cut off. */
export type AttemptDraft = {
  text: string;
  errors: readonly string[];
  usage: Usage | null;
  redacted?: Redacted | undefined;
  /** Whether the turn ended before an outcome of it was stored. */
  interrupted?: true | undefined;
};

/** The files of rejected replies, and the hashes of their nodes in order. */
export function attemptFiles(attempts: readonly AttemptDraft[]): { files: NodeFile[]; hashes: NodeHash[] } {
  const files: NodeFile[] = [];
  const hashes: NodeHash[] = [];
  for (const [i, attempt] of attempts.entries()) {
    const folder = `attempts/${String(i + 1).padStart(2, '0')}`;
    const content = contentNode(cutToFit(attempt.text));
    const payload: JsonObject = {
      content: content.hash,
      errors: [...attempt.errors],
      usage: attempt.usage,
      ...(attempt.interrupted && { interrupted: true }),
      ...taken(attempt),
    };
    const node = encodeNode(builtIn.attempt, payload);
    files.push({ path: `${folder}/attempt.json`, node }, { path: `${folder}/output.md`, node: content });
    hashes.push(node.hash);
  }
  return { files, hashes };
}

/** The field of a node that says what was redacted. */
export function taken({ redacted }: { redacted?: Redacted | undefined }): { redacted?: Redacted } {
  return redacted === undefined ? {} : { redacted };
}

/** Limits of a thread's commit: a fetch refuses larger ones. */
export const MAX_COMMIT_BYTES: number = 1024 * 1024;
export const MAX_PARENTS: number = 2_000;
/** A larger file of a recorded work tree is refused by a fetch, and is neither scanned for secrets nor redacted. */
export const MAX_FILE_BYTES: number = 32 * 1024 * 1024;

function commitTooLarge(reason: string): UwfError {
  return new UwfError(`this cannot be stored as a commit: ${reason}`, {
    code: 'commit-too-large',
    kind: 'data',
    hint: 'name fewer commits and threads, and keep the status and the names of roles and agents short',
  });
}

/** @throws {UwfError} `commit-too-large` if a fetch would refuse this commit */
export function assertCommitFits(commit: Commit): void {
  const { length } = commit.parents;
  if (length > MAX_PARENTS) throw commitTooLarge(`it has ${length} parents, more than ${MAX_PARENTS}`);
  const { byteLength } = encodeCommit(commit);
  if (byteLength > MAX_COMMIT_BYTES) throw commitTooLarge(`it has ${byteLength} bytes, more than ${MAX_COMMIT_BYTES}`);
}
