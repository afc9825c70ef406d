import { readNodeAt } from '../../cas/commit-nodes.ts';
import { pathName } from '../../cas/path-name.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject } from '../../json.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import { pinnedName } from '../../workflow/nodes/stored-blocks.ts';
import type { CommitPlace } from '../chain/commit-place.ts';
import type { ReportFault } from '../fault.ts';

/**
 * Checks what the start of a branch says of its block: the caller's workflow has the block, and the branch runs what the
 * caller's start pins for it. Does nothing for a start of another kind.
 */
export async function checkBranch(
  repository: Repository,
  { node }: CommitOf<'start'>,
  caller: CommitPlace | undefined,
  report: ReportFault,
): Promise<void> {
  const { call, parentRole, workflow } = node;
  if (call?.block === undefined || caller?.start.workflow === undefined) return;
  const say = (what: string): void => report('start.json', what);
  const { block, key, ordinal } = call;
  const { blocks = {} } = payloadOf(await readNodeAt(repository, caller.start.workflow), 'workflow');
  const stored = Object.hasOwn(blocks, block) ? blocks[block] : undefined;
  if (stored === undefined)
    return say(`it is a branch of '${block}', and the workflow of its caller has no such block`);
  if (parentRole !== block) say(`it is a branch of '${block}', and parentRole is '${parentRole}'`);
  if (ordinal !== undefined) say('a branch has a key of its own, and no ordinal');
  const { branches } = stored;
  const isFixed = isJsonObject(branches);
  if (isFixed && !Object.hasOwn(branches, key)) return say(`block '${block}' has no branch '${key}'`);
  const wanted = caller.start.pinned?.get(pathName(pinnedName(block, isFixed ? key : undefined)));
  if (workflow !== wanted) {
    say(
      `its workflow is ${workflow}; the start of its caller pins ${wanted ?? 'none'} for branch '${key}' of '${block}'`,
    );
  }
}
