import { encodeNode, type EncodedNode } from '../cas/node.ts';
import { replaceInScratch } from '../cas/scratch.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { Repository } from '../git/repository.ts';
import { findNodeAt, readTextAt } from './thread-commit.ts';
import { contentNode } from './thread-draft.ts';
import type { ThreadId } from './thread-id.ts';
import { scratchRef } from './thread-refs.ts';
import { readScratch, type Scratch } from './thread-scratch.ts';
import type { CommitOf } from './thread-state.ts';
import { payloadOf } from '../schema/payload-of.ts';

/** The file of a step's tree that stands for all steps before it in what agents are told. */
export const COMPACT_FILE = 'compact.md';

const folder = 'compact/';

/**
 * Pins a text that stands for all steps up to one in what agents are told, until the step after that carries it.
 *
 * It replaces one that was pinned before. Should another step than the next one come to be, it is dropped: it would
 * stand for less than it seems to.
 * @param last the newest step that the text stands for
 */
export async function pinCompaction(
  repository: Repository,
  thread: ThreadId,
  last: NodeHash,
  text: string,
): Promise<NodeHash> {
  const node = contentNode(text);
  await replaceInScratch(repository, scratchRef(thread), folder, { path: pathOf(last), node });
  return node.hash;
}

/** The compaction in a thread's scratch that the step after a given one is to carry. */
export function compactionFor(scratch: Scratch, last: NodeHash | undefined): EncodedNode | undefined {
  return last && scratch.files.find(({ path }) => path === pathOf(last))?.node;
}

/** Tells whether a file of a scratch tree is a compaction, for whatever step. */
export function isCompaction({ path }: { path: string }): boolean {
  return path.startsWith(folder);
}

/** The compaction that a step carries. */
export async function compactionOf(repository: Repository, step: CommitOf<'step'>): Promise<EncodedNode | undefined> {
  const node = step.node.compact === null ? undefined : await findNodeAt(repository, step, COMPACT_FILE);
  return node && encodeNode(node.type, node.payload);
}

/** The text of the compaction that waits for the step after a given one. */
export async function readWaitingCompaction(
  repository: Repository,
  thread: ThreadId,
  last: NodeHash | undefined,
): Promise<string | undefined> {
  const node = compactionFor(await readScratch(repository, thread), last);
  return node && payloadOf(node, 'content').text;
}

/** The text of the compaction that a step carries. */
export async function readCarriedCompaction(
  repository: Repository,
  step: CommitOf<'step'>,
): Promise<string | undefined> {
  return step.node.compact === null ? undefined : readTextAt(repository, step, COMPACT_FILE);
}

function pathOf(last: NodeHash): string {
  return `${folder}${last}.md`;
}
