import type { Repository } from '../../git/repository.ts';
import type { FetchReport } from '../../sync/report.ts';
import { NOT_BROUGHT } from '../../sync/fetch-threads.ts';
import { hintToResume } from '../../thread/thread-status.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { Output } from '../output/output.ts';

/** How many threads are searched for one that is suspended. */
const MAX_THREADS = 20;

/**
 * Prints hints after a fetch: how the remote gets back what it has lost; how to answer a suspended thread, or how to read one.
 *
 * It reads heads only, so its cost does not depend on the length of threads.
 */
export async function hintAfterFetch(out: Output, repository: Repository, report: FetchReport): Promise<void> {
  const lost = report.refused.find(({ reason }) => reason === NOT_BROUGHT);
  if (lost !== undefined) {
    const thread = lost.ref.split('/').at(-1);
    const send = `'git push ${report.remote} :${lost.ref}' and then 'uwf push ${report.remote} ${thread}'`;
    out.hint(`if the remote has lost it, a clone that has all of ${lost.ref} sends it again with ${send}`);
  }
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
