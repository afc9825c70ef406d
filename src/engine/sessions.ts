import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { Repository } from '../git/repository.ts';
import { tryToWriteLocalFile } from './local-file.ts';

/** Whose session: a role of a thread, done by an agent. */
export type SessionKey = { threadId: string; role: string; agent: string };

/** A session of an agent, and the thread's commit in which the last turn in it ended: it knows all up to there. */
export type Session = { id: string; seen: string };

/**
 * The session an agent named in this role's last turn, to be continued; `undefined` where there is none.
 *
 * Sessions stay on this machine. Losing one costs a prompt that carries the context, nothing else.
 */
export function readSession(repository: Repository, key: SessionKey): Session | undefined {
  const session = readAll(repository, key.threadId)[nameOf(key)];
  if (!isJsonObject(session)) return undefined;
  const { id, seen } = session;
  return typeof id === 'string' && typeof seen === 'string' ? { id, seen } : undefined;
}

/** Remembers a session as far as the disk takes it; only the holder of the thread's lease writes. */
export function writeSession(repository: Repository, key: SessionKey, session: Session): void {
  const path = pathOf(repository, key.threadId);
  if (path === undefined) return;
  const sessions = { ...readAll(repository, key.threadId), [nameOf(key)]: session };
  // The turn has been paid for: it is stored even where its session is lost.
  tryToWriteLocalFile(path, `${JSON.stringify(sessions)}\n`);
}

function readAll(repository: Repository, threadId: string): JsonObject {
  const path = pathOf(repository, threadId);
  if (path === undefined) return {};
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function pathOf({ stateDir }: Repository, threadId: string): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, 'sessions', `${threadId}.json`);
}

function nameOf({ role, agent }: SessionKey): string {
  return `${role} ${agent}`;
}
