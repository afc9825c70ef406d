import { encodeNode, type EncodedNode } from '../cas/node.ts';
import { writeNodeTree, type NodeFile } from '../cas/node-tree.ts';
import { pathName } from '../cas/path-name.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Identity, Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { builtIn, encodeTyped } from '../schema/built-in.ts';
import { successorFiles } from '../schema/successor-files.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import type { Redacted } from '../schema/built-in/schema-parts.ts';
import type { Usage } from '../schema/built-in/usage.ts';
import { assertCommitFits } from './commit-limits.ts';
import { cutToFit } from '../cas/text-limit.ts';
import type { Commit } from '../git/commit.ts';
import { commitMessage, type Trailers } from './commit-message.ts';

/** A thread's commit that is about to be written. */
export type CommitDraft = {
  /** The node that makes it one, and its file: `step.json`. */
  file: string;
  node: EncodedNode;
  /** The other nodes of the tree. */
  files: readonly NodeFile[];
  /** What is taken over as it is: folders, with an index of their own if they have nodes, and files that are no nodes. */
  subtrees?: readonly { path: string; mode?: '100644'; id: ObjectId; types?: readonly NodeHash[] }[];
  /** The schemas that lie in the commits of the thread before this one. */
  types: ReadonlySet<NodeHash>;
  parents: readonly ObjectId[];
  author: Identity;
  atMs: number;
  subject: string;
  body: string;
  bodyPath: string;
  trailers?: Omit<Trailers, 'node' | 'type'>;
  typeName: string;
};

/** Adds a thread's commit, with its tree, to a batch. Nothing is written to the repository yet. */
export function draftCommit(repository: Repository, batch: ObjectBatch, draft: CommitDraft): ObjectId {
  const files = [{ path: draft.file, node: draft.node }, ...draft.files];
  const { subtrees = [] } = draft;
  const used = [...files.map(({ node }) => node.type), ...subtrees.flatMap(({ types = [] }) => types)];
  const known = new Set([...draft.types, ...files.map(({ node }) => node.hash)]);
  const tree = writeNodeTree(
    batch,
    [...files, ...successorFiles(used.filter((type) => !known.has(type)))],
    subtrees.map(({ path, id, mode = '040000' as const }) => ({ path, id, mode })),
  );
  const commit: Commit = {
    tree,
    parents: [...new Set(draft.parents)],
    author: { ...draft.author, atMs: draft.atMs },
    committer: { ...repository.committer, atMs: draft.atMs },
    message: commitMessage(draft.subject, draft.body, draft.bodyPath, {
      node: draft.node.hash,
      type: draft.typeName,
      ...draft.trailers,
    }),
  };
  assertCommitFits(commit);
  return batch.addCommit(commit);
}

/** Encodes a text as a content node; `refs` are what was put under the thread while it was written. */
export function contentNode(text: string, refs: readonly NodeHash[] = []): EncodedNode {
  return encodeNode(builtIn.content, refs.length === 0 ? { text } : { text, refs: [...refs] });
}

/** Encodes the record of an agent. */
export function agentNode(agent: AgentRecord): EncodedNode {
  return encodeNode(builtIn.agent, agent);
}

/** A reply that was not accepted, as the engine hands it over. */
export type AttemptDraft = {
  text: string;
  errors: readonly string[];
  usage: Usage | null;
  /** What was taken out of it; absent where nothing was. */
  redacted?: Redacted | undefined;
};

/** The files of the failed attempts, and their hashes in order. */
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
      ...taken(attempt),
    };
    const node = encodeTyped('attempt', payload);
    files.push({ path: `${folder}/attempt.json`, node }, { path: `${folder}/output.md`, node: content });
    hashes.push(node.hash);
  }
  return { files, hashes };
}

/** The field of a node that says what was taken out of it; none where nothing was. */
export function taken({ redacted }: { redacted?: Redacted | undefined }): { redacted?: Redacted } {
  return redacted === undefined ? {} : { redacted };
}

/** Who wrote a step, as `git log` shows it: the role, at its agent. */
export function roleIdentity(role: string, agent: string): Identity {
  return { name: role, email: `${pathName(agent)}@uwf` };
}
