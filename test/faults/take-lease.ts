import { appendFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { LeaseHeld, takeLease } from '../../src/engine/leases/lease.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';

/**
 * Takes the lease of thread after thread, each at the same moment as others do, and never gives one back.
 *
 * Arguments: the repository's folder, a file to say `<thread> <pid>` in for each lease that it got, the ms between rounds,
 * the threads. Prints `here` when it could begin; stdin then says the time of the first round, in ms since 1970. Prints
 * `ready` after the last round, and is killed.
 */
const [dir = '', file = '', pause = '0', ...threads] = process.argv.slice(2);
const repository = await openRepository(dir);
process.stdout.write('here\n');
const firstMs = Number(await text(process.stdin));
for (const [round, thread] of threads.entries()) {
  const atMs = firstMs + round * Number(pause);
  await sleep(Math.max(0, atMs - Date.now() - 2));
  // The timer is good to a millisecond or two; that is a long time for a race.
  while (Date.now() < atMs);
  try {
    await takeLease(repository, parseThreadId(thread));
    appendFileSync(file, `${thread} ${process.pid}\n`);
  } catch (error) {
    if (!(error instanceof LeaseHeld)) throw error;
  }
}
process.stdout.write('ready\n');
// Its leases are those of a process that lives, until it is killed.
await sleep(600_000);
