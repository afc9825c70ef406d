import { createHash } from 'node:crypto';
import { constants, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { succeeds } from '../../or-else.ts';
import { UwfError } from '../../errors.ts';
import { createDurableFile, makeFolders, removeFile, syncFolder } from '../../git/system/write-files.ts';
import { asStorageError, errnoOf, isNotThere } from '../../git/format/object-errors.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import { READ, readRegularFile } from '../../git/system/files.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { RedactionFailed } from '../../redaction/redactor.ts';
import type { EngineContext } from '../engine-context.ts';
import type { FinishedTurn } from '../turn/step.ts';
import { keptPath } from './kept-path.ts';
import { seal, unseal, type Sealed } from './seal.ts';
import { TurnLog } from './turn-log.ts';
import { keptTurnDamaged, ReplyNotStored } from './kept-turn-errors.ts';

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
export function readKept(path: string, thread: ThreadId): unknown {
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
export function writeKept(path: string, json: string): void {
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
