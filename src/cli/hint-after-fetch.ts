import { describeThread } from '../engine/describe.ts';
import type { Repository } from '../git/repository.ts';
import type { FetchReport } from '../sync/report.ts';
import { readingContext } from './engine-here.ts';
import type { Output } from './output/output.ts';

/** So many threads are looked at to find one that waits for somebody. */
const MOST = 20;

/** Says what can be done with the threads that a fetch brought: answer one that waits, go on with one, or read one. */
export async function hintAfterFetch(out: Output, repository: Repository, report: FetchReport): Promise<void> {
  const present = report.threads.filter(({ change }) => change !== 'removed');
  const changed = present.toSorted((a, b) => (a.thread < b.thread ? -1 : 1)).slice(-MOST);
  const [last] = changed.slice(-1);
  if (last === undefined) return;
  const described = await Promise.all(
    changed.map(({ thread }) => describeThread(readingContext(repository), thread).catch(() => undefined)),
  );
  const waiting = described.findLast((thread) => thread?.status === 'suspended');
  if (waiting) {
    out.hint(
      `thread ${waiting.thread} waits for somebody: 'uwf thread show ${waiting.thread}', then 'uwf thread resume'`,
    );
  } else out.hint(`'uwf log ${last.thread}' tells its story`);
}
