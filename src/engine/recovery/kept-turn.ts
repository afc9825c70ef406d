import { createHash } from 'node:crypto';
import { constants, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf, UwfError } from '../../errors.ts';
import { asStorageError, errnoOf, isNotThere } from '../../git/format/object-errors.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import { READ, readRegularFile } from '../../git/system/files.ts';
import { createDurableFile, makeFolders, removeFile, syncFolder } from '../../git/system/write-files.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { succeeds } from '../../or-else.ts';
import { RedactionFailed } from '../../redaction/redactor.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import type { FileHit } from '../../thread/secret-scan.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { stateCommit, type ThreadState } from '../../thread/thread-state.ts';
import type { EngineContext } from '../engine-context.ts';
import type { ChosenStep, FinishedTurn, Step } from '../turn/step.ts';
import type { TurnFiles } from '../workspace/record-workspace.ts';
import { keptPath } from './kept-path.ts';
import { seal, type Sealed, TurnLog, unseal } from './turn-log.ts';

/** The version of the files of kept turns. */
const VERSION = 1;
/** A reply, and what it left of its files in base64. */
const MAX_BYTES = 256 * 1024 * 1024;

/** A turn that could not be stored, as this machine keeps it. */
export type KeptTurn = Omit<FinishedTurn, 'again' | 'workspace'> & {
  version: typeof VERSION;
  /** The commit that the turn goes on from; of one that does a step again, that step's. */
  head: ObjectId;
  /** What a person said about the step that the turn does again, and the id under which it does; absent where it does none. */
  again?: { word: string; as: ThreadId };
  workspace?: KeptWorkspace;
};

/** A turn that could not be redacted. */
type SealedTurn = { version: typeof VERSION; sealed: Sealed };

/** Of a snapshot: the bytes of its objects in base64, and the packs that hold the others. */
export type KeptWorkspace = Omit<Snapshot, 'objects' | 'release'> & {
  objects: readonly { type: GitObject['type']; data: string }[];
};

/**
 * Keeps a turn that could not be stored on this machine, durable when this returns, for the next command to store.
 *
 * Where there is no room for all of it, its trace and the replies that were not accepted are left out.
 * @param cause why it could not be stored
 * @returns the error to raise; where the turn could not be kept either, its message holds what the agent has said
 */
export function keepTurn(engine: EngineContext, state: ThreadState, turn: FinishedTurn, cause: unknown): Error {
  const path = keptPath(engine.repository, state.id, 'kept');
  // If the repository was moved, no command would find the turn where it was.
  const canKeep = succeeds(() => assertThere(engine.repository));
  const facts = { thread: state.id, role: turn.role, cause };
  if (cause instanceof RedactionFailed) {
    const sealed = canKeep && path !== undefined && tryToKeep(path, engine, state, turn, engine.sealKey);
    return new ReplyNotStored({
      ...facts,
      path,
      said: sealed ? undefined : '[uwf shows nothing that may hold secrets]',
    });
  }
  const notStored = (said: string | undefined): Error => {
    const error = new ReplyNotStored({ ...facts, path, said });
    // Any error but uwf's own and the system's is a mistake in uwf, and told as one.
    return cause instanceof UwfError || errnoOf(cause) !== undefined ? error : new Error(error.message, { cause });
  };
  return notStored(canKeep && path !== undefined && tryToKeep(path, engine, state, turn) ? undefined : saidIn(turn));
}

/**
 * Tells whether a turn is kept now.
 * @param sealKey gives the key with which it is encrypted; absent: what is kept has no secrets
 */
function tryToKeep(
  path: string,
  { repository }: EngineContext,
  state: ThreadState,
  turn: FinishedTurn,
  sealKey?: () => Uint8Array,
): boolean {
  const kept = encode(state, turn);
  const result = { ...kept.result, attempts: [], trace: undefined };
  for (const candidate of [kept, { ...kept, result }]) {
    const write = (): void =>
      writeKept(path, JSON.stringify(sealKey ? { version: VERSION, sealed: seal(candidate, sealKey()) } : candidate));
    // With less of it there may be room; the error to tell is the first one.
    if (!succeeds(write)) continue;
    new TurnLog(repository, state.id).elsewhere(turn.isHeld === true);
    return true;
  }
  return false;
}

/**
 * Reads the turn of a thread that is kept on this machine; `undefined` if there is none.
 * @returns with `isSealed`, what may hold secrets
 * @throws {UwfError} `kept-turn-damaged` if the file is not as it was written, or was encrypted with another key
 */
export function readKeptTurn(
  { repository, sealKey }: Pick<EngineContext, 'repository' | 'sealKey'>,
  thread: ThreadId,
): { turn: KeptTurn; path: string; isSealed: boolean } | undefined {
  const path = keptPath(repository, thread, 'kept');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Its digest is right, so a version of uwf wrote it.
  const kept = path === undefined ? undefined : (readKept(path, thread) as KeptTurn | SealedTurn | undefined);
  if (path === undefined || kept === undefined) return undefined;
  // The digest was right: it is what `keepTurn` of some version wrote.
  if (kept.version !== VERSION) throw keptTurnDamaged(thread, path);
  if (!('sealed' in kept)) return { turn: kept, path, isSealed: false };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What was encrypted is what `keepTurn` gave.
  const turn = unseal(kept.sealed, sealKey()) as KeptTurn | undefined;
  if (turn === undefined) throw keptTurnDamaged(thread, path);
  return { turn, path, isSealed: true };
}

/**
 * Reads what {@link writeKept} wrote; `undefined` if there is none.
 * @throws {UwfError} `kept-turn-damaged` if the file is not as it was written
 */
function readKept(path: string, thread: ThreadId): unknown {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  const [digest, json = ''] = text.split('\n');
  if (digest !== digestOf(json)) throw keptTurnDamaged(thread, path);
  return JSON.parse(json);
}

/** Forgets the turn of a thread that is kept, as it is stored now. */
export function forgetKeptTurn(path: string): void {
  removeFile(path);
  syncFolder(dirname(path));
}

function encode(state: ThreadState, { again, workspace, ...turn }: FinishedTurn): KeptTurn {
  const kept: KeptTurn = { ...turn, version: VERSION, head: again?.step.commit.id ?? state.head.id };
  if (again) kept.again = { word: again.word, as: again.as };
  if (workspace) {
    const { tree, commit, shortfall, missing, packs } = workspace;
    const objects = workspace.objects.map(({ type, data }) => ({ type, data: Buffer.from(data).toString('base64') }));
    kept.workspace = {
      tree,
      ...(commit && { commit }),
      ...(shortfall && { shortfall }),
      ...(missing && { missing }),
      objects,
      packs,
    };
  }
  return kept;
}

/** Writes a file of this user's alone, with a digest of its content before it. */
function writeKept(path: string, json: string): void {
  const unfinished = `${path}.new`;
  try {
    makeFolders(dirname(path));
    // Only the holder of the thread's lease writes: this is what one that was killed has left.
    removeFile(unfinished);
    createDurableFile(unfinished, [Buffer.from(`${digestOf(json)}\n${json}`)], 0o600);
    renameSync(unfinished, path);
    syncFolder(dirname(path));
  } catch (error) {
    removeFile(unfinished);
    throw asStorageError(error, path);
  }
}

function digestOf(json: string): string {
  return createHash('sha256').update(json).digest('hex');
}

function readIfThere(path: string): string | undefined {
  try {
    return readRegularFile(path, MAX_BYTES, READ | constants.O_NOFOLLOW).toString('utf8');
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw error instanceof UwfError ? error : asStorageError(error, path);
  }
}

function saidIn({ result }: FinishedTurn): string {
  if (result.kind === 'suspended') return [result.reason, result.text].filter(Boolean).join('\n\n');
  return `${JSON.stringify(result.meta)}\n\n${result.text}`;
}

/** The choices for a reply that could not be redacted. */
export const HOW_TO_ALLOW = 'it is stored as it was said, or its file is removed and the role runs again';

/** Which turn could not be stored, why, and what has become of it. */
type NotStored = {
  thread: ThreadId;
  role: string;
  cause: unknown;
  /** Where it is kept, or could not be kept. */
  path: string | undefined;
  /** The agent's reply, if it could not be kept; `undefined` if it is kept. */
  said: string | undefined;
};

/**
 * An agent has finished its turn and it could not be stored: this machine keeps it, or the message holds it.
 *
 * `code` and `kind` are those of the error that kept it from being stored.
 */
export class ReplyNotStored extends UwfError {
  declare readonly thread: ThreadId;

  constructor({ thread, role, cause, path, said }: NotStored) {
    const known = cause instanceof UwfError ? cause : undefined;
    const reason = messageOf(cause);
    const isKept = said === undefined;
    const fate = isKept
      ? `it is kept in ${path}`
      : `it could not be kept in ${path ?? 'memory'} either, and this is what it said:\n${said}`;
    const verb = cause instanceof RedactionFailed ? `resume ${thread} --allow-secrets` : `run ${thread}`;
    const next = isKept ? `'uwf thread ${verb}' stores it then, and no agent runs again for it` : undefined;
    super(`the reply of ${role} in thread ${thread} could not be stored: ${reason}; ${fate}`, {
      code: known?.code ?? 'reply-not-stored',
      kind: known?.kind ?? 'environment',
      hint: [known?.hint, next].filter(Boolean).join('; ') || undefined,
      cause,
      facts: { thread, role, path, isKept },
    });
  }
}

/** The file of a kept turn is not as it was written, or a newer uwf wrote it. */
function keptTurnDamaged(thread: ThreadId, path: string): UwfError {
  return new UwfError(`the finished reply that is kept for thread ${thread} in ${path} cannot be read`, {
    code: 'kept-turn-damaged',
    kind: 'data',
    hint: `read what is left of it, then remove ${path}: the role runs again after that`,
    facts: { path },
  });
}

const HELD_VERSION = 1;
/** How many places a suspension names. */
const MAX_PLACES = 10;

/** A finished turn that is not stored yet, as this machine keeps it until a person has said what becomes of it. */
type HeldTurn = {
  version: typeof HELD_VERSION;
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
  const held: HeldTurn = { version: HELD_VERSION, turn: rest, files, head: state.head.id };
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
  if (held === undefined || held.version !== HELD_VERSION || again !== undefined || held.turn.role !== role)
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
