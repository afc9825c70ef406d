import { expect, test } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import { RemoteUnreachable } from '../../src/git/transport/git-output.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { QueueLost } from '../../src/worker/turn-queue.ts';
import { WorkerTroubles } from '../../src/worker/worker.ts';

const [a, b] = [parseThreadId('01K9T8SJ0YB6Z9KDZC8DRTZA1V'), parseThreadId('01K9T8SJ0YB6Z9KDZC8DRTZA2W')];

test('an outage is told once, whatever notices it and in whatever words, and its end once', () => {
  const said: string[] = [];
  const troubles = new WorkerTroubles('origin', (text) => said.push(text));
  troubles.reached();
  troubles.tell(new RemoteUnreachable('origin', 'no route'), a);
  troubles.tell(new RemoteUnreachable('origin', 'timed out'), b);
  troubles.tell(new RemoteUnreachable('origin', 'no route'));
  troubles.tell(new QueueLost('Redis does not answer', { code: 'queue-unreachable', kind: 'environment' }));
  troubles.reached();
  troubles.reached();
  // A turn that was at it when the remote came back.
  troubles.tell(new RemoteUnreachable('origin', 'reset'), b);
  troubles.reached();
  expect(said).toEqual([
    "origin cannot be reached: no route (nothing was changed here; 'git ls-remote origin' shows whether git gets through)",
    'origin is back',
  ]);
});

test('another trouble is told of each thread, with what can be done once, and not again at once', () => {
  const said: string[] = [];
  const troubles = new WorkerTroubles('origin', (text) => said.push(text));
  const missing = new UwfError('no agent', { code: 'agent-missing', kind: 'agent', hint: 'install it' });
  for (const thread of [a, a, b]) troubles.tell(missing, thread);
  troubles.tell('a text');
  expect(said).toEqual([`thread ${a}: no agent (install it)`, `thread ${b}: no agent`, 'a text']);
});
