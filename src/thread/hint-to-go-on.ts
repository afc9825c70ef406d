import type { ThreadSuspend } from '../schema/built-in/thread-suspend.ts';
import { isFailure } from './failure-reason.ts';
import type { ThreadCommit } from './thread-commit.ts';
import type { ThreadId } from './thread-id.ts';

/** Says which command lets a thread that is not over go on. */
export function hintToGoOn({ id, head }: { id: ThreadId; head: ThreadCommit }): string {
  return head.kind === 'suspend' ? hintToResume(id, head.node) : `run 'uwf thread step ${id}'`;
}

/** What of a suspension tells whether a person is asked for something. `due` is absent, or when to go on. */
export type WhyItWaits = Pick<ThreadSuspend, 'cause' | 'reason' | 'role'> & { due?: number | string };

/** Says which command lets a suspended thread go on: with an answer only where one is asked for. */
export function hintToResume(id: ThreadId, why: WhyItWaits): string {
  const resume = `uwf thread resume ${id}`;
  switch (why.cause) {
    case 'secret':
      return `take them out and run '${resume}', or store the files as they are with --allow-secrets`;
    case 'limit':
      return `'${resume}' goes on, or says how much more it has to be allowed`;
    case 'permission':
      return `answer with '${resume} -p yes' (or no)`;
    case 'child':
      return `'uwf thread show ${id}' names the child thread that it waits for; '${resume}' goes on with that`;
    case 'human':
    case 'gate':
      return `answer with '${resume} -p <answer>'`;
    case 'agent':
      if (why.due === undefined && !isFailure(why)) return `answer with '${resume} -p <answer>'`;
      break;
    case 'invalid-reply':
    case 'timeout':
    case 'isolation':
      break;
  }
  const when = why.due === undefined ? 'once what stopped it is put right' : 'when that time has come';
  return `'${resume}' takes the turn again, ${when}`;
}
