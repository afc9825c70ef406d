import { existsSync } from 'node:fs';
import { PackKeep } from '../../git/stores/disk/pack-writer.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { readTextAt, readThreadCommit } from '../../thread/thread-commit.ts';
import { ThreadMoved } from '../../thread/thread-errors.ts';
import { readState, type ThreadState } from '../../thread/thread-state.ts';
import type { EngineContext } from '../engine-context.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { storeTurn } from '../turn/store-turn.ts';
import type { FinishedTurn } from '../turn/step.ts';
import { RedactionFailed } from '../../redaction/redactor.ts';
import {
  forgetKeptTurn,
  HOW_TO_ALLOW,
  type KeptTurn,
  type KeptWorkspace,
  readKeptTurn,
  ReplyNotStored,
} from './kept-turn.ts';
import { isTurnStored } from './turn-log.ts';

/**
 * Stores the turn of a thread that an earlier command could not store, if this machine keeps one. To be called under the
 * thread's lease.
 *
 * @param allowSecrets also one that could not be redacted
 * @returns the thread with it, or the fork that waits; `undefined` if there was none, or the thread has moved on since:
 *   then the turn is kept as a fork, unless it was stored already
 * @throws {ReplyNotStored} if it cannot be stored now either; it stays kept
 */
export async function storeKeptTurn(
  engine: EngineContext,
  state: ThreadState,
  allowSecrets: boolean = false,
): Promise<ThreadState | undefined> {
  const found = readKeptTurn(engine, state.id);
  if (found === undefined) return undefined;
  const { turn: kept, path, isSealed } = found;
  const { role } = kept;
  if (isSealed && !allowSecrets) {
    const cause = new RedactionFailed('what it said could not be searched for secrets', HOW_TO_ALLOW);
    throw new ReplyNotStored({ thread: state.id, role, cause, path, said: undefined });
  }
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
      stored = await storeTurn({ engine: engine, state: before, definition: await definitionOf(engine, before) }, turn);
    }
  } catch (error) {
    if (!(error instanceof ThreadMoved)) {
      throw new ReplyNotStored({ thread: state.id, role, cause: error, path, said: undefined });
    }
    fork = error.fork ?? null;
  }
  forgetKeptTurn(path);
  if (stored !== undefined && stored.id !== state.id) fork = stored.id;
  if (stored !== undefined || fork !== null) engine.tell({ event: 'reply.stored', thread: state.id, role, fork });
  return stored;
}

/** The turn as it was, and the thread as the turn had found it. */
async function restoreTurn(
  { repository }: EngineContext,
  { id }: ThreadState,
  { version: _version, head, again, workspace, ...turn }: KeptTurn,
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
  { objects: store }: EngineContext['repository'],
  { objects, packs, ...facts }: KeptWorkspace,
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
