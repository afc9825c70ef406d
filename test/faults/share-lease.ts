import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { LeaseHeld, takeLease } from '../../src/engine/leases/lease.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';

/**
 * Takes and releases one lease again and again beside others that do the same, and writes down when it has it.
 *
 * Arguments: the repository's folder, the thread, the file for `<pid> took` and `<pid> left`, how often. Prints `here`
 * when it could begin, and begins when stdin ends.
 */
const [dir = '', thread = '', file = '', count = '0'] = process.argv.slice(2);
const repository = await openRepository(dir);
process.stdout.write('here\n');
process.stdin.resume();
await once(process.stdin, 'end');
for (let left = Number(count); left > 0;) {
  try {
    const lease = await takeLease(repository, parseThreadId(thread));
    appendFileSync(file, `${process.pid} took\n`);
    await setImmediate();
    appendFileSync(file, `${process.pid} left\n`);
    lease.release();
    left -= 1;
  } catch (error) {
    if (!(error instanceof LeaseHeld)) throw error;
  }
}
