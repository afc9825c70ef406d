import { parseObjectId } from '../../../src/git/format/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { appendStep } from '../../../src/thread/append-step.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { startLoop, stepDraft } from '../thread-fixture.ts';

/** Starts a thread that began its work at a commit and left files. */
export async function threadWithCode(
  repository: Repository,
  { base, checkedOut, tree }: { base: string; checkedOut: string | undefined; tree: string },
  prompt: string = 'Mend the parser.\n\nIt fails.',
): Promise<ThreadState> {
  const state = await startLoop(repository, { base: parseObjectId(base), prompt });
  return leaveFiles(repository, state, { checkedOut, tree });
}

/** Appends a step that left files. */
export function leaveFiles(
  repository: Repository,
  state: ThreadState,
  { checkedOut, tree }: { checkedOut: string | undefined; tree: string },
): Promise<ThreadState> {
  const commit = checkedOut === undefined ? {} : { commit: parseObjectId(checkedOut) };
  return appendStep(repository, state, stepDraft({ workspace: { tree: parseObjectId(tree), ...commit, objects: [] } }));
}
