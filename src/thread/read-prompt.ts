import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readStart } from './read-start.ts';
import { readTextAt } from './thread-commit.ts';

/** Reads what the user of a thread asked for, all of it; `undefined` for a thread that cannot be read. */
export async function readPrompt(repository: Repository, head: ObjectId): Promise<string | undefined> {
  const start = await readStart(repository, head);
  return start && readTextAt(repository, start, 'prompt.md').catch(() => undefined);
}
