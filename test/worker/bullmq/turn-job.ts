import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import type { TurnJob } from '../../../src/worker/turn-queue.ts';

/** A job of a thread that exists nowhere: for a queue it is enough. */
export function turnJob(needs: readonly string[] = []): TurnJob {
  const head = parseObjectId(randomBytes(20).toString('hex'));
  return { remote: 'origin', thread: parseThreadId(ulid()), head, needs };
}
