import type { ObjectId } from '../../git/format/object-id.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import type { FileHit } from '../../thread/secret-scan.ts';
import { stateCommit } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { succeeds } from '../../or-else.ts';
import type { EngineContext } from '../engine-context.ts';
import type { ChosenStep, FinishedTurn, Step } from '../turn/step.ts';
import type { TurnFiles } from '../workspace/record-workspace.ts';
import { forgetKeptTurn, readKept, writeKept } from './kept-turn.ts';
import { keptPath } from './kept-path.ts';
import { TurnLog } from './turn-log.ts';

const VERSION = 1;
/** How many places a suspension names. */
const MAX_PLACES = 10;

/** A finished turn that is not stored yet, as this machine keeps it until a person has said what becomes of it. */
type HeldTurn = {
  version: typeof VERSION;
  turn: Omit<FinishedTurn, 'again' | 'workspace'>;
  files: TurnFiles;
  /** The commit that the turn goes on from. */
  head: ObjectId;
};

/**
 * Keeps a turn until the thread goes on. If it goes on without an answer, the turn is stored and not taken again. A turn that
 * does a step again is not kept, nor one for which there is no room.
 * @returns the suspension to store in its place
 */
export function holdTurn(
  { engine, state }: Pick<Step, 'engine' | 'state'>,
  turn: Omit<FinishedTurn, 'workspace'>,
  files: TurnFiles,
  { cause, reason }: { cause: SuspendCause; reason: string },
): FinishedTurn {
  const { again, ...rest } = turn;
  const { attempts, usage, trace, session, text } = turn.result;
  const path = keptPath(engine.repository, state.id, 'held');
  const held: HeldTurn = { version: VERSION, turn: rest, files, head: state.head.id };
  // Where it cannot be written, the suspension has what the agent said.
  const isHeld = path !== undefined && again === undefined && succeeds(() => writeKept(path, JSON.stringify(held)));
  if (isHeld) new TurnLog(engine.repository, state.id).elsewhere(true);
  // The usage of a turn is counted once: in its step, if there will be one.
  const used = isHeld ? { attempts: [], usage: null, trace: undefined } : { attempts, usage, trace };
  return { ...turn, result: { kind: 'suspended', cause, reason, text, session, ...used }, isHeld };
}

/** Says which files hold secrets, without the secrets. */
export function reasonOfSecrets(role: string, places: readonly FileHit[]): string {
  const named = places.slice(0, MAX_PLACES).map(({ file, at, rule }) => `${file} ${at} (${rule})`);
  const others = places.length > MAX_PLACES ? `, and ${places.length - MAX_PLACES} more` : '';
  return `files that ${role} changed hold what looks like secrets, and files are not edited: ${named.join(', ')}${others}`;
}

/** The turn that is held for a role, if the thread has only waited since, without an answer. */
export function findHeldTurn({
  engine: { repository },
  state,
  choice: { role, again },
}: ChosenStep): Omit<HeldTurn, 'version' | 'head'> | undefined {
  const path = keptPath(repository, state.id, 'held');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Its digest is right, so a version of uwf wrote it.
  const held = path === undefined ? undefined : (readKept(path, state.id) as HeldTurn | undefined);
  if (held === undefined || held.version !== VERSION || again !== undefined || held.turn.role !== role)
    return undefined;
  const sinceStep = [stateCommit(state), ...state.pauses];
  const place = sinceStep.findIndex(({ id }) => id === held.head);
  const since = sinceStep.slice(place + 1);
  const isSame = since.every(({ kind, node }) => kind === 'suspend' || (kind === 'resume' && node.answer === null));
  return place !== -1 && isSame ? held : undefined;
}

/** Forgets the turn that is held for a thread. */
export function forgetHeldTurn({ repository }: EngineContext, thread: ThreadId): void {
  const path = keptPath(repository, thread, 'held');
  if (path !== undefined) forgetKeptTurn(path);
}
