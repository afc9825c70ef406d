import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { assertThere } from '../git/repository/git-directory.ts';
import { readDerivedJson, writeDerivedFile } from '../git/system/state-files.ts';
import { namesIn } from '../git/system/files.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity } from '../git/system/process-identity.ts';
import type { Repository } from '../git/repository.ts';
import { iso } from '../iso.ts';
import { tryTo } from '../or-else.ts';
import { arrayOf, isNumber, isString, objectOf, orNull } from '../shape.ts';
import type { WorkerInfo, WorkerMonitor } from './monitor.ts';

/** What a worker of this repository does, for other processes of this machine. */
export type WorkerStatus = {
  worker: string;
  remote: string;
  pid: number;
  /** When it started. */
  since: string;
  /** When a look at the remote last succeeded; null if none has. */
  lastLook: string | null;
  turns: number;
  steps: number;
  /** Jobs that failed or were given back, and those that were taken away. */
  failed: number;
  lost: number;
  atWork: { thread: string; role: string | null; since: string }[];
};

/** The file of a worker: its status, and the process that wrote it. */
type Stored = WorkerStatus & { process: string };

const FORM = 'worker 1';
const fileName = /^[1-9][0-9]*\.json$/;

const isStored = objectOf<Stored>({
  worker: isString,
  remote: isString,
  pid: isNumber,
  since: isString,
  lastLook: orNull(isString),
  turns: isNumber,
  steps: isNumber,
  failed: isNumber,
  lost: isNumber,
  atWork: arrayOf(objectOf({ thread: isString, role: orNull(isString), since: isString })),
  process: isString,
});

function folderOf(stateDir: string): string {
  return join(stateDir, 'workers');
}

/** Writes what this worker does, as far as possible. */
export function writeStatus(repository: Repository, monitor: WorkerMonitor, { worker, remote }: WorkerInfo): void {
  const { stateDir } = repository;
  if (stateDir === undefined) return;
  const { counts, lastLookMs, startedMs, atWork } = monitor;
  const stored: Stored = {
    worker,
    remote,
    pid: process.pid,
    since: iso(startedMs),
    lastLook: lastLookMs === undefined ? null : iso(lastLookMs),
    turns: counts.turns,
    steps: counts.steps,
    failed: counts.jobs.again,
    lost: counts.lost,
    atWork: atWork.map(({ thread, role, sinceMs }) => ({ thread, role, since: iso(sinceMs) })),
    process: formatIdentity(ownIdentity()),
  };
  tryTo(() => {
    assertThere(repository);
    writeDerivedFile(ownPath(stateDir), FORM, JSON.stringify(stored));
  });
}

/** Removes the status of this process: it works no more. */
export function removeStatus({ stateDir }: Repository): void {
  if (stateDir !== undefined) tryTo(() => rmSync(ownPath(stateDir), { force: true }));
}

function ownPath(stateDir: string): string {
  return join(folderOf(stateDir), `${process.pid}.json`);
}

/**
 * Lists the workers of this repository that run on this machine, by their process ids. Files of processes that have ended are
 * removed; those of other machines and containers, which cannot be checked from here, are left out.
 */
export function readStatuses({ stateDir }: Repository): WorkerStatus[] {
  if (stateDir === undefined) return [];
  const found: WorkerStatus[] = [];
  for (const name of namesIn(folderOf(stateDir)).filter((each) => fileName.test(each))) {
    const path = join(folderOf(stateDir), name);
    const stored = readDerivedJson(path, FORM, isStored);
    const identity = stored && parseIdentity(stored.process);
    if (stored === undefined || identity === undefined) continue;
    const alive = isAlive(identity);
    if (alive === false) tryTo(() => rmSync(path, { force: true }));
    if (alive !== true) continue;
    const { process: _process, ...status } = stored;
    found.push(status);
  }
  return found.toSorted((a, b) => a.pid - b.pid);
}
