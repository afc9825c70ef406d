import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readThreadCommit, type ThreadCommit } from '../thread-commit.ts';
import { nothingForDataError } from '../fault-of.ts';

type Step = Extract<ThreadCommit, { kind: 'step' }>;

/** Reads the steps that a step replaced, directly or through others, the newest first. */
export async function readReplaced(repository: Repository, step: Step): Promise<Step[]> {
  const replaced: Step[] = [];
  for (let last = step; last.node.replaces !== undefined;) {
    const { replaces } = last.node;
    const parents = await Promise.all(last.commit.parents.slice(1).map((id) => findStep(repository, id)));
    const before = parents.find((parent) => parent?.hash === replaces);
    // It is damaged, which verification names.
    if (before === undefined) break;
    replaced.push(before);
    last = before;
  }
  return replaced;
}

/** A parent that is a step; pinned commits and those of the user's code are none. */
async function findStep(repository: Repository, id: ObjectId): Promise<Step | undefined> {
  const commit = await readThreadCommit(repository, id).catch(nothingForDataError);
  return commit?.kind === 'step' ? commit : undefined;
}
