import type { Html } from '../html.ts';
import type { BranchName } from '../../engine/events.ts';
import type { ThreadId } from '../../thread/thread-id.ts';

/** The caller of a thread, and which branch of it the thread is. */
export function CalledBy({ parent, branch }: { parent: ThreadId; branch: BranchName | null }): Html {
  const how = branch === null ? 'called by' : `branch ${branch.key} of`;
  return (
    <p class="facts">
      <span>
        {how} <a href={`/t/${parent}`}>{parent}</a>
      </span>
    </p>
  );
}
