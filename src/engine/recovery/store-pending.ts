import { existsSync } from 'node:fs';
import type { Repository } from '../../git/repository.ts';
import { PackKeep } from '../../git/stores/disk/pack-writer.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { RedactionFailed } from '../../redaction/redactor.ts';
import { readTextAt, readThreadCommit } from '../../thread/thread-commit.ts';
import { ThreadMoved } from '../../thread/thread-errors.ts';
import { readState, stateCommit, type ThreadState } from '../../thread/thread-state.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import type { Machine, Reading, Telling } from '../engine-context.ts';
import { appendTurn, storeTurn } from '../turn/append.ts';
import type { FinishedTurn, TurnWish } from '../turn/step.ts';
import {
  forgetPendingTurn,
  HOW_TO_ALLOW,
  isForPerson,
  type PendingTurn,
  type PendingWorkspace,
  readPendingTurn,
  ReplyNotStored,
} from './pending-turn.ts';
import { isTurnStored } from './turn-log.ts';

/**
 * Stores the pending turn of a thread, if this machine has one. To be called under the thread's lease.
 * @param wish with `allowSecrets`, also one that could not be redacted, or whose files hold secrets
 * @returns the thread with it, or the fork that waits, or the thread suspended because of it once more; `undefined` if there was
 *   none, a person has not said yet or has said what makes it void, or the thread has moved on since: then a turn that could
 *   not be stored is kept as a fork, unless it was stored already
 * @throws {ReplyNotStored} if it cannot be stored now either; it stays kept
 */
export async function storePendingTurn(
  engine: Machine & Telling,
  state: ThreadState,
  wish: Pick<TurnWish, 'role' | 'allowSecrets'>,
): Promise<ThreadState | undefined> {
  const found = readPendingTurn(engine, state.id);
  if (found === undefined) return undefined;
  const { turn, reason, path } = found;
  if (isForPerson(reason)) return storeHeld(engine, state, turn, wish);
  if (reason === 'not-redacted' && wish.allowSecrets !== true) {
    const cause = new RedactionFailed('what it said could not be searched for secrets', HOW_TO_ALLOW);
    throw new ReplyNotStored({ thread: state.id, role: turn.role, cause, path, said: undefined });
  }
  return storeKept(engine, state, turn, path);
}

/** Stores a turn that a person has looked at, if the thread has only waited since, and goes on without an answer. */
async function storeHeld(
  engine: Machine & Telling,
  state: ThreadState,
  { head, again: _again, workspace: _workspace, files, ...turn }: PendingTurn,
  { role = turn.role, allowSecrets }: Pick<TurnWish, 'role' | 'allowSecrets'>,
): Promise<ThreadState | undefined> {
  const sinceStep = [stateCommit(state), ...state.pauses];
  const place = sinceStep.findIndex(({ id }) => id === head);
  const since = sinceStep.slice(place + 1);
  const isSame = since.every(({ kind, node }) => kind === 'suspend' || (kind === 'resume' && node.answer === null));
  const isOpen = state.end === undefined && state.head.kind !== 'suspend';
  if (files === undefined || place === -1 || !isSame || !isOpen || role !== turn.role) return undefined;
  const step = { engine, state, definition: await definitionOf(engine, state) };
  // Without a suspension nobody has seen yet why it waits.
  const after = await appendTurn(step, turn, files, { allowSecrets, isResumed: since.length > 0 });
  if (after.head.kind !== 'step') return after;
  engine.tell({ event: 'reply.stored', thread: state.id, role, fork: null });
  return after;
}

async function storeKept(
  engine: Telling,
  state: ThreadState,
  kept: PendingTurn,
  path: string,
): Promise<ThreadState | undefined> {
  const { role } = kept;
  let stored: ThreadState | undefined;
  let fork: string | null = null;
  try {
    const { before, turn } = await restoreTurn(engine, state, kept);
    if (kept.workspace && !turn.workspace) {
      const reason = 'git has collected them since';
      engine.tell({ event: 'snapshot.shortened', thread: state.id, role, reason });
    }
    // What failed may have come after the thread's ref had moved.
    if (!(await isTurnStored(engine.repository, state.head.id, before.head.id, kept))) {
      stored = await storeTurn({ engine, state: before, definition: await definitionOf(engine, before) }, turn);
    }
  } catch (error) {
    if (!(error instanceof ThreadMoved)) {
      throw new ReplyNotStored({ thread: state.id, role, cause: error, path, said: undefined });
    }
    fork = error.fork ?? null;
  }
  forgetPendingTurn(engine.repository, state.id);
  if (stored !== undefined && stored.id !== state.id) fork = stored.id;
  if (stored !== undefined || fork !== null) engine.tell({ event: 'reply.stored', thread: state.id, role, fork });
  return stored;
}

/** The turn as it was, and the thread as the turn had found it. */
async function restoreTurn(
  { repository }: Reading,
  { id }: ThreadState,
  { head, again, workspace, files: _files, ...turn }: PendingTurn,
): Promise<{ before: ThreadState; turn: FinishedTurn }> {
  const at = await readThreadCommit(repository, head);
  const restored = { ...turn, workspace: workspace && (await restoreWorkspace(repository, workspace)) };
  const [previous = head] = at.commit.parents;
  if (again === undefined || at.kind !== 'step')
    return { before: await readState(repository, id, head), turn: restored };
  const step = { commit: at, text: await readTextAt(repository, at, 'output.md') };
  return { before: await readState(repository, id, previous), turn: { ...restored, again: { step, ...again } } };
}

/** Guards the packs of a snapshot again. Of one whose packs or commit have gone there is nothing left to record. */
async function restoreWorkspace(
  { objects: store }: Repository,
  { objects, packs, ...facts }: PendingWorkspace,
): Promise<Snapshot | undefined> {
  if (facts.commit !== undefined && !(await store.has(facts.commit))) return undefined;
  const keeps = packs.filter((path) => existsSync(`${path}.idx`)).map((path) => new PackKeep(path));
  const release = (): void => {
    for (const keep of keeps) keep.remove();
  };
  // Looked at again behind the keeps: git may have been about to remove them.
  if (packs.every((path) => existsSync(`${path}.idx`))) {
    return {
      ...facts,
      objects: objects.map(({ type, data }) => ({ type, data: Buffer.from(data, 'base64') })),
      packs,
      release,
    };
  }
  release();
  return undefined;
}
