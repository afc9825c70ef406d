import { constants, existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, UwfError } from '../../errors.ts';
import { asStorageError, errnoOf, isNotThere } from '../../git/format/errors.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import {
  createDurableFile,
  makeFolders,
  READ,
  readRegularFile,
  removeFile,
  syncFolder,
} from '../../git/system/files.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { isJsonObject, parseJson } from '../../json.ts';
import { orElse, succeeds } from '../../or-else.ts';
import { RedactionFailed } from '../../redaction/redactor.ts';
import type { FileHit } from '../../thread/secret-scan.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import type { Telling } from '../engine-context.ts';
import { freeReserved } from '../turn/step-folder.ts';
import type { FinishedTurn, Step } from '../turn/step.ts';
import type { TurnFiles } from '../workspace/record-workspace.ts';
import { seal, type Sealed, TurnLog, unseal } from './turn-log.ts';

// A turn that was paid for and is not stored yet waits in one file of this machine, with the reason. `store-pending.ts` goes on from it.

const VERSION = 1;
/** A reply, and what it left of its files in base64. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Why a turn waits: it could not be stored, or not be searched for secrets; or, with a suspension in its place for a person to
 * look at it, its files hold secrets, or it was not kept apart as its role asks.
 */
type PendingReason = 'not-stored' | 'not-redacted' | 'secret' | 'isolation';

/** A turn that is not stored yet, as its file has it. */
export type PendingTurn = Omit<FinishedTurn, 'again' | 'workspace' | 'isHeld'> & {
  /** The commit that the turn goes on from; of one that does a step again, that step's. */
  head: ObjectId;
  /** What a person said about the step that the turn does again, and the id under which it does; absent where it does none. */
  again?: { word: string; as: ThreadId } | undefined;
  /** The files that it left, as they were recorded. */
  workspace?: PendingWorkspace | undefined;
  /** Where they are, if a person has to look at them before they are recorded. */
  files?: TurnFiles | undefined;
};

/** Of a snapshot: the bytes of its objects in base64, and the packs that hold the others. */
export type PendingWorkspace = Omit<Snapshot, 'objects' | 'release'> & {
  objects: readonly { type: GitObject['type']; data: string }[];
};

/** What the file says. What may hold secrets is encrypted. */
type PendingFile = { version: typeof VERSION; reason: PendingReason } & ({ turn: PendingTurn } | { sealed: Sealed });

/** Where the pending turn of a thread is; `undefined` where there is no disk. */
export function pendingPath({ stateDir }: Repository, thread: ThreadId): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, 'pending', `${thread}.json`);
}

/** The file of a finished reply that the next command stores; `undefined` if there is none, or a person has to look at it first. */
export function findKeptReply(repository: Repository, thread: ThreadId): string | undefined {
  const path = pendingPath(repository, thread);
  if (path === undefined || !existsSync(path)) return undefined;
  // What cannot be read is told by what goes on from it.
  const isHeld = orElse(() => isForPerson(readFile(path, thread)?.reason), false);
  return isHeld ? undefined : path;
}

/** Tells whether a person looks at a turn before it is stored. */
export function isForPerson(reason: PendingReason | undefined): boolean {
  return reason === 'secret' || reason === 'isolation';
}

/**
 * Keeps a turn that could not be stored on this machine, durable when this returns, for the next command to store.
 *
 * Where there is no room for all of it, its trace and the replies that were not accepted are left out.
 * @param cause why it could not be stored
 * @returns the error to raise; where the turn could not be kept either, its message holds what the agent has said
 */
export function keepTurn(engine: Telling, state: ThreadState, turn: FinishedTurn, cause: unknown): Error {
  const path = pendingPath(engine.repository, state.id);
  const reason = cause instanceof RedactionFailed ? 'not-redacted' : 'not-stored';
  // If the repository was moved, no command would find the turn where it was.
  const canKeep = succeeds(() => assertThere(engine.repository));
  // Of a suspension that stands for a turn that is held, the turn itself is kept.
  const isKept =
    canKeep && path !== undefined && (turn.isHeld === true || tryToKeep(path, engine, state, turn, reason));
  const shown = reason === 'not-redacted' ? '[uwf shows nothing that may hold secrets]' : saidIn(turn);
  const error = new ReplyNotStored({
    thread: state.id,
    role: turn.role,
    cause,
    path,
    said: isKept ? undefined : shown,
  });
  // Any error but uwf's own and the system's is a mistake in uwf, and told as one.
  return cause instanceof UwfError || errnoOf(cause) !== undefined ? error : new Error(error.message, { cause });
}

function tryToKeep(
  path: string,
  engine: Telling,
  state: ThreadState,
  turn: FinishedTurn,
  reason: PendingReason,
): boolean {
  const kept = encode(state, turn);
  const result = { ...kept.result, attempts: [], trace: undefined };
  const candidates = [kept, { ...kept, result }];
  // With less of it there may be room.
  const keep = (): boolean =>
    candidates.some((candidate) => succeeds(() => writeFile(path, engine, state.id, reason, candidate)));
  if (keep()) return true;
  freeReserved(engine.repository, Infinity);
  return keep();
}

/**
 * Keeps a turn until the thread goes on. If it goes on without an answer, the turn is stored and not taken again. A turn that
 * does a step again is not kept, nor one for which there is no room.
 * @returns the suspension to store in its place
 */
export function holdTurn(
  { engine, state }: Pick<Step<Telling>, 'engine' | 'state'>,
  turn: Omit<FinishedTurn, 'workspace'>,
  files: TurnFiles,
  { cause, reason }: { cause: 'secret' | 'isolation'; reason: string },
): FinishedTurn {
  const { attempts, usage, trace, session, text } = turn.result;
  const path = pendingPath(engine.repository, state.id);
  const hold = (): void => writeFile(path ?? '', engine, state.id, cause, { ...encode(state, turn), files });
  // Where it cannot be written, the suspension has what the agent said.
  const isHeld = path !== undefined && turn.again === undefined && succeeds(hold);
  // The usage of a turn is counted once: in its step, if there will be one.
  const used = isHeld ? { attempts: [], usage: null, trace: undefined } : { attempts, usage, trace };
  return { ...turn, result: { kind: 'suspended', cause, reason, text, session, ...used }, isHeld };
}

const MAX_PLACES = 10;

/** Says which files hold secrets, without the secrets. */
export function reasonOfSecrets(role: string, places: readonly FileHit[]): string {
  const named = places.slice(0, MAX_PLACES).map(({ file, at, rule }) => `${file} ${at} (${rule})`);
  const others = places.length > MAX_PLACES ? `, and ${places.length - MAX_PLACES} more` : '';
  return `files that ${role} changed hold what looks like secrets, and files are not edited: ${named.join(', ')}${others}`;
}

/**
 * Reads the pending turn of a thread; `undefined` if there is none.
 * @throws {UwfError} `kept-turn-damaged` if the file cannot be read, or was encrypted with another key
 */
export function readPendingTurn(
  { repository, sealKey }: Pick<Telling, 'repository' | 'sealKey'>,
  thread: ThreadId,
): { turn: PendingTurn; reason: PendingReason; path: string } | undefined {
  const path = pendingPath(repository, thread);
  const file = path === undefined ? undefined : readFile(path, thread);
  if (path === undefined || file === undefined) return undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What was encrypted is what `writeFile` was given.
  const turn = 'turn' in file ? file.turn : (unseal(file.sealed, sealKey()) as PendingTurn | undefined);
  if (turn === undefined) throw keptTurnDamaged(thread, path);
  return { turn, reason: file.reason, path };
}

/** Forgets the pending turn of a thread, as it is stored now, or another one is that took its place. */
export function forgetPendingTurn(repository: Repository, thread: ThreadId): void {
  const path = pendingPath(repository, thread);
  if (path === undefined || !existsSync(path)) return;
  removeFile(path);
  syncFolder(dirname(path));
}

function encode(state: ThreadState, { again, workspace, isHeld: _isHeld, ...turn }: FinishedTurn): PendingTurn {
  const head = again?.step.commit.id ?? state.head.id;
  const pending: PendingTurn = { ...turn, head, again: again && { word: again.word, as: again.as } };
  if (workspace === undefined) return pending;
  const { release: _release, ...facts } = workspace;
  const objects = facts.objects.map(({ type, data }) => ({ type, data: Buffer.from(data).toString('base64') }));
  return { ...pending, workspace: { ...facts, objects } };
}

/** Writes a file of this user's alone. Only the cost of the turn stays in its log. */
function writeFile(
  path: string,
  { repository, sealKey }: Telling,
  thread: ThreadId,
  reason: PendingReason,
  turn: PendingTurn,
): void {
  const what = reason === 'not-redacted' ? { sealed: seal(turn, sealKey()) } : { turn };
  const file: PendingFile = { version: VERSION, reason, ...what };
  const unfinished = `${path}.new`;
  try {
    makeFolders(dirname(path));
    // Only the holder of the thread's lease writes: this is what one that was killed has left.
    removeFile(unfinished);
    createDurableFile(unfinished, [Buffer.from(JSON.stringify(file))], 0o600);
    renameSync(unfinished, path);
    syncFolder(dirname(path));
  } catch (error) {
    removeFile(unfinished);
    throw asStorageError(error, path);
  }
  new TurnLog(repository, thread).elsewhere(isForPerson(reason));
}

function readFile(path: string, thread: ThreadId): PendingFile | undefined {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  const file = parseJson(text);
  if (!isJsonObject(file) || file['version'] !== VERSION) throw keptTurnDamaged(thread, path);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `writeFile` wrote it, whole.
  return file as unknown as PendingFile;
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
