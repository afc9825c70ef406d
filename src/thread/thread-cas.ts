import { historyNodes } from '../cas/history-nodes.ts';
import { encodeNode } from '../cas/node.ts';
import { parseNodeHash, type NodeHash } from '../cas/hash.ts';
import { combineSources, getNode, type NodeSource, type StoredNode } from '../cas/node-source.ts';
import { listScratch, putScratch, removeFromScratch, scratchNodes } from '../cas/scratch.ts';
import { UwfError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonValue } from '../json.ts';
import { builtIn } from '../schema/built-in.ts';
import { assertLinks, assertValid } from '../schema/validate.ts';
import { getThread } from './find-thread.ts';
import { readChain } from './chain.ts';
import { readThreadCommit } from './thread-commit.ts';
import { scratchRef } from './thread-refs.ts';

/** A node cannot be taken back, because a step has taken it in. */
export class NodeInUse extends UwfError {
  readonly hash: NodeHash;
  readonly step: NodeHash;
  constructor(hash: NodeHash, step: NodeHash) {
    super(`node ${hash} belongs to step ${step} and cannot be removed`, {
      code: 'node-in-use',
      kind: 'conflict',
      hint: "what a step has taken in lives as long as its thread; 'uwf thread rm' removes that",
    });
    this.hash = hash;
    this.step = step;
  }
}

/**
 * The content-addressed store of one thread: its own history, the commits that has as parents, and what was put
 * under it and not yet taken in.
 */
export interface ThreadCas extends NodeSource {
  /** Puts a text as a content node, pinned until a step takes it in or it is deleted. */
  put(text: string): Promise<NodeHash>;
  /** Puts a value of a type that the thread, or the repository, knows. */
  putTyped(type: NodeHash, payload: JsonValue): Promise<NodeHash>;
  /** @throws {NodeNotFound} if the thread does not have it */
  get(hash: string): Promise<StoredNode>;
  /** @throws {NodeInUse} if a step has taken it in; `false` if the thread does not have it */
  delete(hash: string): Promise<boolean>;
  /** The nodes that were put: what steps took in, oldest first, then what waits. */
  list(): Promise<{ hash: NodeHash; step: NodeHash | undefined }[]>;
}
