import { join } from 'node:path';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { FileHit } from '../thread/secrets/secret-scan.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { RoleChoice } from './choose-role.ts';
import type { EngineContext } from './context.ts';
import { storeTurn, type FinishedTurn } from './finished-turn.ts';
import { forgetKeptTurn, readKept, writeKept } from './kept-turn.ts';
import type { TurnFiles } from './record-workspace.ts';

const VERSION = 1;
/** How many places a suspension names. */
const MOST_PLACES = 10;

/** A finished turn whose files hold secrets, as this machine keeps it until a person has said what becomes of them. */
type HeldTurn = {
  version: typeof VERSION;
  turn: Omit<FinishedTurn, 'again' | 'workspace'>;
  files: TurnFiles;
  /** The commit that the turn goes on from. */
  head: ObjectId;
};

/** Says where secrets are, and never which. */
export function reasonToHold(role: string, places: readonly FileHit[]): string {
  const named = places.slice(0, MOST_PLACES).map(({ file, at, rule }) => `${file} ${at} (${rule})`);
  const others = places.length > MOST_PLACES ? `, and ${places.length - MOST_PLACES} more` : '';
  return `files that ${role} changed hold what looks like secrets, and files are not edited: ${named.join(', ')}${others}`;
}

/**
 * Suspends a thread whose turn left secrets in files. The turn waits on this machine and is not taken again when the thread
 * goes on without an answer; one that does a step again is.
 * @returns the thread that waits
 */
export async function holdTurn(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  turn: Omit<FinishedTurn, 'workspace'>,
  { files, reason }: { files: TurnFiles; reason: string },
): Promise<ThreadState> {
  const { result, again, ...rest } = turn;
  const path = heldPath(context.repository, state.id);
  const held: HeldTurn = { version: VERSION, turn: { ...rest, result }, files, head: state.head.id };
  const isHeld = path !== undefined && again === undefined;
  if (isHeld) writeKept(path, JSON.stringify(held));
  const { attempts, usage, trace, session } = result;
  // What the turn has used is counted once: in its step, where that is to come.
  const said = isHeld ? { attempts: [], usage: null, trace: undefined } : { attempts, usage, trace };
  return storeTurn(context, state, definition, {
    ...turn,
    result: { kind: 'suspended', cause: 'secret', reason, text: result.text, session, ...said },
  });
}

/** The turn that was held for a role, if the thread has only waited since, and nobody has answered something. */
export function findHeldTurn(
  { repository }: EngineContext,
  state: ThreadState,
  { role, again }: RoleChoice,
): Omit<HeldTurn, 'version' | 'head'> | undefined {
  const path = heldPath(repository, state.id);
  const held = path === undefined ? undefined : (readKept(path, state.id) as HeldTurn | undefined);
  if (held === undefined || held.version !== VERSION || again !== undefined || held.turn.role !== role)
    return undefined;
  const place = state.chain.findIndex(({ id }) => id === held.head);
  const since = state.chain.slice(place + 1);
  const isSame = since.every(({ kind, node }) => kind === 'suspend' || (kind === 'resume' && node.answer === null));
  return place !== -1 && isSame ? held : undefined;
}

/** Forgets the turn that is held for a thread. */
export function forgetHeldTurn({ repository }: EngineContext, thread: ThreadId): void {
  const path = heldPath(repository, thread);
  if (path !== undefined) forgetKeptTurn(path);
}

function heldPath({ stateDir }: Repository, thread: ThreadId): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, 'held', `${thread}.json`);
}
