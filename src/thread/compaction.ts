import type { NodeHash } from '../cas/hash.ts';
import { type EncodedNode, encodeNode } from '../cas/node.ts';
import { replaceInScratch } from '../cas/scratch.ts';
import type { Repository } from '../git/repository.ts';
import { payloadOf } from '../schema/built-in.ts';
import { contentNode } from './draft-commit.ts';
import { findNodeAt, readTextAt } from './thread-commit.ts';
import { scratchRef, type ThreadId } from './thread-id.ts';
import { readScratch, type Scratch } from './thread-scratch.ts';
import type { CommitOf } from './thread-state.ts';

/** The file of a step's tree with a summary that replaces all earlier steps in the prompts of agents. */
export const COMPACT_FILE = 'compact.md';

const folder = 'compact/';

/**
 * Pins a summary of all steps up to one, until the next step stores it.
 *
 * It replaces an earlier pinned summary. If another step follows than the next one, the summary is dropped, because it would
 * be incomplete.
 * @param last the newest step in the summary
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

/** The pinned summary that the step after a given one is to store. */
export function compactionFor(scratch: Scratch, last: NodeHash | undefined): EncodedNode | undefined {
  return last && scratch.files.find(({ path }) => path === pathOf(last))?.node;
}

/** Tells whether a file of a scratch tree is a summary. */
export function isCompaction({ path }: { path: string }): boolean {
  return path.startsWith(folder);
}

/** The summary that a step stores. */
export async function compactionOf(repository: Repository, step: CommitOf<'step'>): Promise<EncodedNode | undefined> {
  const node = step.node.compact === null ? undefined : await findNodeAt(repository, step, COMPACT_FILE);
  return node && encodeNode(node.type, node.payload);
}

/** The text of the pinned summary for the step after a given one. */
export async function readWaitingCompaction(
  repository: Repository,
  thread: ThreadId,
  last: NodeHash | undefined,
): Promise<string | undefined> {
  const node = compactionFor(await readScratch(repository, thread), last);
  return node && payloadOf(node, 'content').text;
}

/** The text of the summary that a step stores. */
export async function readCarriedCompaction(
  repository: Repository,
  step: CommitOf<'step'>,
): Promise<string | undefined> {
  return step.node.compact === null ? undefined : readTextAt(repository, step, COMPACT_FILE);
}

function pathOf(last: NodeHash): string {
  return `${folder}${last}.md`;
}
