import { join } from 'node:path';
import { readDerivedJson, tryToWriteDerivedFile } from '../../git/system/state-files.ts';
import type { Repository } from '../../git/repository.ts';
import { isString, objectOf, recordOf } from '../../shape.ts';

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
