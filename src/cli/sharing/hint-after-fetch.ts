import type { Repository } from '../../git/repository.ts';
import type { FetchReport } from '../../sync/report.ts';
import { hintToResume } from '../../thread/hint-to-go-on.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { Output } from '../output/output.ts';

/** How many threads are searched for one that is suspended. */
const MAX_THREADS = 20;

/**
 * Prints a hint after a fetch: how to answer a suspended thread, or how to read one.
 *
 * It reads heads only, so its cost does not depend on the length of threads.
 */
export async function hintAfterFetch(out: Output, repository: Repository, report: FetchReport): Promise<void> {
  const present = report.threads.flatMap(({ thread, head }) => (head === null ? [] : [{ thread, head }]));
  const newest = present.toSorted((a, b) => (a.thread < b.thread ? 1 : -1)).slice(0, MAX_THREADS);
  const [first] = newest;
  if (first === undefined) return;
  for (const { thread, head } of newest) {
    const commit = await readThreadCommit(repository, head).catch(() => undefined);
    if (commit?.kind !== 'suspend') continue;
    out.hint(
      `thread ${thread} waits, and 'uwf thread show ${thread}' tells for what; ${hintToResume(thread, commit.node)}`,
    );
    return;
  }
  out.hint(`'uwf log ${first.thread}' shows its log`);
}
