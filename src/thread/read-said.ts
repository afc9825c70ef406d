import type { JsonObject } from '../json.ts';
import type { Repository } from '../git/repository.ts';
import { readChain } from './chain.ts';
import { getThread } from './find-thread.ts';
import { readTextAt } from './thread-commit.ts';

/** What was said at one place of a thread: its task, or the reply of a step. */
export type Said = {
  /** The step's number from 1; 0 for the task. */
  number: number;
  /** Who said it; null for the task. */
  role: string | null;
  /** The step's hash; null for the task. */
  step: string | null;
  /** The structured part of the reply; null for the task. */
  meta: JsonObject | null;
  text: string;
};

/** Which part of a thread is read. */
export type SaidOptions = {
  /** Only the last so many entries. */
  limit?: number;
  /** Only what stands before the step of this number. */
  before?: number;
};

/**
 * Reads what was said in a thread, oldest first. Only the texts that are given back are read, and of the chain only the
 * part behind them.
 * @param thread an id, or a prefix that only this thread has
 * @throws {ThreadNotFound} if there is none
 */
export async function readSaid(repository: Repository, thread: string, options: SaidOptions = {}): Promise<Said[]> {
  const { limit = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY } = options;
  const { head } = await getThread(repository, thread);
  const said: Said[] = [];
  for await (const commit of readChain(repository, head)) {
    if (said.length >= limit) break;
    if (commit.kind === 'start') {
      const text = await readTextAt(repository, commit, 'prompt.md');
      said.unshift({ number: 0, role: null, step: null, meta: null, text });
    } else if (commit.kind === 'step' && commit.node.number < before) {
      const { number, role, meta } = commit.node;
      said.unshift({ number, role, step: commit.hash, meta, text: await readTextAt(repository, commit, 'output.md') });
    }
  }
  return said;
}
