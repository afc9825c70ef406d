import type { Repository } from '../git/repository.ts';
import type { FetchReport } from '../sync/report.ts';
import { hintToResume } from '../thread/hint-to-go-on.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import type { Output } from './output/output.ts';

/** So many threads are looked at to find one that waits for somebody. */
const MOST = 20;

/**
 * Says what can be done with the threads that a fetch brought: answer one that waits, or read one.
 *
 * Looks at heads only, so that it takes no time however long the threads are.
 */
export async function hintAfterFetch(out: Output, repository: Repository, report: FetchReport): Promise<void> {
  const present = report.threads.flatMap(({ thread, head }) => (head === null ? [] : [{ thread, head }]));
  const newest = present.toSorted((a, b) => (a.thread < b.thread ? 1 : -1)).slice(0, MOST);
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
  out.hint(`'uwf log ${first.thread}' tells its story`);
}
