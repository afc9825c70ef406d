import { changesBetween, observeWorkTree, type ObservedWorkTree } from '../../git/worktree/observe-work-tree.ts';
import { mainWorkTree, readThreadNote } from '../../git/repository/work-trees.ts';
import type { OutsideChanges, WorkTreeChanges } from '../../git/format/paths.ts';
import type { GitPlace } from '../../git/process/run-git.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Machine, Telling } from '../engine-context.ts';
import { gitPlace } from './work-place.ts';

/** The work trees that isolated agents are to leave alone, at one moment. It is a value of JSON. */
export type ObservedOthers = Partial<Record<keyof OutsideChanges, ObservedWorkTree>>;

export async function observeOthers(engine: Machine, thread: ThreadId): Promise<ObservedOthers> {
  const [main, given] = await Promise.all(othersOf(engine, thread).map((place) => observeWorkTree(place)));
  return { ...(main && { main }), ...(given && { given }) };
}

/** The main work tree, or the bare repository, and the work tree that the command was given in if it is another one. */
function othersOf(engine: Machine, thread: ThreadId): GitPlace[] {
  const git = gitPlace(engine);
  const { commonDir, gitDir, workTree } = git.location;
  const main = { gitDir: commonDir, commonDir, workTree: mainWorkTree({ commonDir }) };
  const isMain = workTree === undefined || (gitDir === commonDir && workTree === main.workTree);
  // A person can run a thread on in its own work tree.
  const isOwn = readThreadNote(git.location)?.thread === thread;
  return [{ ...git, location: main }, ...(isMain || isOwn ? [] : [git])];
}

/** Finds what changed in those work trees since they were observed, and tells it. */
export async function findBreach(
  engine: Machine & Telling,
  before: ObservedOthers,
  place: { thread: ThreadId; role: string },
): Promise<OutsideChanges | undefined> {
  const after = await observeOthers(engine, place.thread).catch(() => ({}));
  const main = changesOf('main', before, after);
  const given = changesOf('given', before, after);
  if (main === undefined && given === undefined) return undefined;
  const changes = { ...(main && { main }), ...(given && { given }) };
  engine.tell({ event: 'main.changed', ...place, ...changes });
  return changes;
}

function changesOf(
  which: keyof OutsideChanges,
  { [which]: before }: ObservedOthers,
  { [which]: after }: ObservedOthers,
): WorkTreeChanges | undefined {
  if (before === undefined) return undefined;
  // The turn has been paid for. Before it git could look there, so that it cannot now is a change.
  return after === undefined ? { index: true } : changesBetween(before, after);
}
