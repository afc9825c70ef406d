import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endStrays, findStrays } from '../../agent/processes/process-group.ts';
import { storing } from '../../git/format/errors.ts';
import type { Repository } from '../../git/repository.ts';
import { readIfThere } from '../../git/repository/git-directory.ts';
import { makeFolders, namesIn, readDerivedJson, share, sizeOf, tryToWriteDerivedFile } from '../../git/system/files.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../../git/system/process-identity.ts';
import type { JsonObject } from '../../json.ts';
import { tryTo } from '../../or-else.ts';
import { isString, objectOf, recordOf } from '../../shape.ts';

/** How much space is held for what the turns at work come to. */
const RESERVED_BYTES = 1024 * 1024;

/** With less than this on the disk a turn that is to be stored gives the space free: what fills the disk may go on. */
const LITTLE_BYTES = 64 * 1024 * 1024;

/** How long what a killed step has started has to end by itself. */
const GRACE_MS = 1_000;

/** The folder of a step that was left, and its size. */
type LeftStep = { path: string; bytes: number };

/** No process has this number. */
const NO_LEADER = -1;

/** The file that names the process whose step it is. */
const HOLDER = 'holder';

/**
 * Removes the folders of steps whose processes are dead, and ends what their agents started in sessions of its own: it
 * would work on beside the next agent.
 * @param isLeft whether no other process works on a thread
 */
export async function clearLeftSteps(
  { stateDir }: Repository,
  isLeft: (thread: string) => boolean,
): Promise<LeftStep[]> {
  if (stateDir === undefined) return [];
  const parent = join(stateDir, 'steps');
  const removed: LeftStep[] = [];
  for (const name of namesIn(parent)) {
    if (!isLeft(name.replace(/-.*$/, ''))) continue;
    const folder = join(parent, name);
    const holder = parseIdentity(readIfThere(join(folder, HOLDER)) ?? '');
    // The lease is no proof: a person can have removed it while its holder worked.
    if (holder !== undefined && isAlive(holder) !== false) continue;
    await endStrays(findStrays(NO_LEADER, folder), NO_LEADER, folder, GRACE_MS);
    const bytes = sizeOf(folder);
    removeStepFolder(folder);
    removed.push({ path: folder, bytes });
  }
  return removed;
}

/**
 * Makes the folder of a step.
 *
 * It holds the process as `holder`, and the role's schema as `schema.json`, for what reports a result (`uwf mcp`).
 * @throws {StorageFull} / {StorageReadOnly}; also if there is no space to hold for the reply ({@link freeReserved})
 */
export function makeStepFolder({ stateDir }: Repository, threadId: string, schema: JsonObject): string {
  const parent = stateDir === undefined ? tmpdir() : join(stateDir, 'steps');
  return storing(parent, () => {
    makeFolders(parent);
    if (stateDir !== undefined) reserve(join(stateDir, RESERVED));
    const folder = mkdtempSync(join(parent, `${threadId}-`));
    share(folder);
    return fillFolder(folder, schema);
  });
}

function fillFolder(folder: string, schema: JsonObject): string {
  try {
    const files = { [HOLDER]: formatIdentity(ownIdentity()), 'schema.json': JSON.stringify(schema) };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, name), text);
      share(join(folder, name));
    }
    return folder;
  } catch (error) {
    removeStepFolder(folder);
    throw error;
  }
}

/** Space on the disk that no turn needs until the disk is full: one file for all steps of the repository. */
const RESERVED = 'reserved';

function reserve(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.size === RESERVED_BYTES) return;
  try {
    // Not synced: file systems account for what is written at once. Random, because some of them compress.
    writeFileSync(path, randomBytes(RESERVED_BYTES));
    share(path);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

/**
 * Gives the reserved space free where little else is left, for a reply to be stored; the next step that begins needs it again.
 * @param littleBytes `Infinity`: in any case, as a quota is not seen before it is reached
 */
export function freeReserved({ stateDir }: Repository, littleBytes: number = LITTLE_BYTES): void {
  if (stateDir === undefined) return;
  const free = (): void => {
    const { bavail, bsize } = statfsSync(stateDir);
    if (bavail * bsize < littleBytes) rmSync(join(stateDir, RESERVED), { force: true });
  };
  // The turn's result is worth more than to know why.
  tryTo(free);
}

/** Removes the folder of a step. Errors are ignored: the turn's result is worth more. */
export function removeStepFolder(path: string): void {
  // The thread's next turn removes what is left.
  tryTo(() => rmSync(path, { recursive: true, force: true }));
}

/** Whose session: a role of a thread, done by an agent. */
type SessionKey = { threadId: string; role: string; agent: string };

/** A session of an agent, and the thread's commit in which the last turn in it ended: it knows all up to there. */
export type Session = { id: string; seen: string };

const FORM = 'sessions 1';
const isSessions = recordOf(objectOf<Session>({ id: isString, seen: isString }));

/**
 * The session an agent named in this role's last turn, to be continued; `undefined` where there is none.
 *
 * Sessions stay on this machine. Losing one costs a prompt that carries the context, nothing else.
 */
export function readSession(repository: Repository, key: SessionKey): Session | undefined {
  return readAll(repository, key.threadId)[nameOf(key)];
}

/** Remembers a session. Errors of the disk are ignored. Only the holder of the thread's lease writes. */
export function writeSession(repository: Repository, key: SessionKey, session: Session): void {
  const path = pathOf(repository, key.threadId);
  if (path === undefined) return;
  const sessions = { ...readAll(repository, key.threadId), [nameOf(key)]: session };
  // The turn has been paid for: it is stored even where its session is lost.
  tryToWriteDerivedFile(path, FORM, `${JSON.stringify(sessions)}\n`);
}

function readAll(repository: Repository, threadId: string): Record<string, Session> {
  const path = pathOf(repository, threadId);
  return (path === undefined ? undefined : readDerivedJson(path, FORM, isSessions)) ?? {};
}

function pathOf({ stateDir }: Repository, threadId: string): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, 'sessions', `${threadId}.json`);
}

function nameOf({ role, agent }: SessionKey): string {
  return `${role} ${agent}`;
}
