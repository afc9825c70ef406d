import { messageOf } from '../../../src/errors.ts';
import { openBullQueue } from '../../../src/worker/bullmq/bull-queue.ts';

/**
 * A worker for tests that holds each turn until it is told to stop, and prints what happens.
 *
 * Arguments: the URL of the server, and for how long locks live.
 */
const [url = '', lockMs = ''] = process.argv.slice(2);

const say = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  const queue = await openBullQueue(url, Number(lockMs));
  await queue.work(
    async ({ thread }, { signal }) => {
      say(`taken ${thread}`);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      say(`stopped ${thread}`);
      return 'again';
    },
    { atOnce: 1, labels: [], onTrouble: (trouble) => say(`trouble ${messageOf(trouble)}`) },
  );
  process.stdin.once('data', () => process.exit());
} catch (error) {
  say(`failed ${error instanceof Error ? error.message : String(error)}`);
}
