import { existsSync } from 'node:fs';
import { mainWorkTree, noteThread } from '../../git/repository/work-trees.ts';
import {
  describeMissing,
  describeOutside,
  nameSome,
  type OutsideChanges,
  unresolvedIn,
} from '../../git/format/paths.ts';
import { findOwnWorkTree } from '../../git/worktree/own-work-tree.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { filesOfStep } from '../../thread/step-files.ts';
import type { TraceDraft } from '../../thread/step-trace.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { isIsolated } from '../../workflow/definition.ts';
import type { Machine } from '../engine-context.ts';
import type { FinishedTurn, Step } from '../turn/step.ts';
import type { TurnFiles } from '../workspace/record-workspace.ts';
import { gitPlace, workTreeFolder } from './work-place.ts';

/**
 * Says why a finished turn is held, although its reply was accepted: its files could not be recorded completely, or have
 * conflicts, or a rebase has not come to them, and so would pass for the work; or the main work tree, or that of the command,
 * changed, which its role forbids or which a tool call of it did.
 * @param isResumed a person has seen what changed
 * @returns `undefined` if it can be stored
 */
export function whyNotApart(
  { engine }: Pick<Step<Machine>, 'engine'>,
  { role, result, isolation }: Omit<FinishedTurn, 'workspace'>,
  files: TurnFiles,
  workspace: Snapshot | undefined,
  isResumed: boolean,
): string | undefined {
  if (!isIsolated(files.isolation) || result.kind !== 'done') return undefined;
  if (workspace === undefined) {
    const why = existsSync(files.cwd)
      ? 'is no work tree of the repository any more; what is there is kept if the turn is taken again, and is recorded once its .git is gone or put right'
      : 'is gone, and what the turn left there with it; a new one is made if the turn is taken again';
    return `the work tree of ${role} could not be recorded: ${files.cwd} ${why}`;
  }
  const { shortfall, missing, halfDone } = workspace;
  const unresolved = unresolvedIn(missing);
  if (unresolved.length > 0) {
    const how = "'git add' each file there once it is resolved, or undo what gave the conflicts ('git merge --abort')";
    return `${role} left conflicts that are not resolved in ${files.cwd}: ${nameSome(unresolved)}; ${how}`;
  }
  if (halfDone !== undefined) {
    const how = `'git ${halfDone} --continue' there goes on, 'git ${halfDone} --abort' goes back`;
    return `${role} left a ${halfDone} in ${files.cwd} that is not finished: ${how}`;
  }
  const lack = shortfall ?? (missing && describeMissing(missing));
  if (lack !== undefined) return `not all files that ${role} left could be recorded: ${lack}`;
  if (isolation === undefined || isResumed) return undefined;
  const changed = describeOutside(role, isolation);
  if (hasNamedOne(engine, isolation, result.trace)) return `${changed}; a tool call of the turn named it`;
  return files.isolation === 'strict' ? `${changed}; that may also have been a person who works there` : undefined;
}

/** Tells whether a tool call of a turn named a work tree that changed during the turn. */
function hasNamedOne(engine: Machine, { main, given }: OutsideChanges, trace: TraceDraft | undefined): boolean {
  const { location } = gitPlace(engine);
  const tops = [main && mainWorkTree(location), given && location.workTree].filter((top) => top !== undefined);
  const isNamed = (text: string, top: string): boolean =>
    text
      .split(top)
      .slice(1)
      .some((rest) => !/^[\w.-]/.test(rest));
  const calls = trace?.turns.flatMap(({ toolCalls }) => toolCalls) ?? [];
  return calls.some((call) => tops.some((top) => isNamed(call.arguments, top)));
}

/** Notes in a thread's work tree that its files are those of the step that was just stored. */
export async function noteFiles(
  engine: Machine,
  thread: ThreadId,
  { id, head }: Pick<ThreadState, 'id' | 'head'>,
): Promise<void> {
  if (head.kind !== 'step' || id !== thread) return;
  const found = await findOwnWorkTree(gitPlace(engine), workTreeFolder(engine, thread));
  const commit = (await filesOfStep(engine.repository, head))?.commit;
  if (found?.note === undefined || commit === undefined) return;
  noteThread(found.location, { ...found.note, at: head.id, commit });
}
