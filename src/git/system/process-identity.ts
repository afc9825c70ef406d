import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { orElse } from '../../or-else.ts';
import { errnoOf } from '../format/errors.ts';

/**
 * The process that a file belongs to: enough for another process to tell later whether it still runs.
 *
 * A pid alone is reused; a pid with the boot and the start time of the process is not.
 */
export type ProcessIdentity = {
  /** The machine's name. A process on another machine cannot be checked. */
  host: string;
  /** One boot of the machine; empty where the system does not tell. */
  bootId: string;
  /** The pid namespace (containers count their own pids); empty where there is none. */
  pidNamespace: string;
  pid: number;
  /** Clock ticks between the boot and the start of the process; empty where the system does not tell. */
  startTime: string;
};

let own: ProcessIdentity | undefined;

export function ownIdentity(): ProcessIdentity {
  own ??= identityOf(process.pid);
  return own;
}

/** The identity of a process of this machine that runs now; without a start time where there is none of this pid. */
export function identityOf(pid: number): ProcessIdentity {
  return {
    host: hostname().slice(0, 64),
    bootId: currentBootId(),
    pidNamespace: currentPidNamespace(),
    pid,
    startTime: startTimeOf(pid) ?? '',
  };
}

/**
 * Writes an identity as one word that can be part of a file name: `<pid>.<start>.<boot>.<namespace>.<host>`.
 *
 * It holds neither `/` nor `@` nor white space.
 */
export function formatIdentity(identity: ProcessIdentity): string {
  const { pid, startTime, bootId, pidNamespace, host } = identity;
  return `${pid}.${startTime}.${bootId}.${pidNamespace}.${encodeURIComponent(host)}`;
}

const written = /^([1-9][0-9]{0,9})\.([0-9]*)\.([0-9a-f]*)\.([0-9]*)\.([^/@\s]*)$/;

/** Reads what {@link formatIdentity} wrote; `undefined` for anything else. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const match = written.exec(text);
  if (match === null) return undefined;
  const [, pid = '', startTime = '', bootId = '', pidNamespace = '', encodedHost = ''] = match;
  const host = orElse(() => decodeURIComponent(encodedHost), undefined);
  return host === undefined ? undefined : { host, bootId, pidNamespace, pid: Number(pid), startTime };
}

/**
 * Tells whether a process still runs.
 *
 * Returns `'other-host'` for a process of another machine, or of another container's pids. Only `false` is certain: where the
 * system reports neither boots nor start times, a reused pid counts as alive.
 * Source: proc(5), `/proc/<pid>/stat` field 22 and `/proc/sys/kernel/random/boot_id`.
 */
export function isAlive(identity: ProcessIdentity): boolean | 'other-host' {
  const here = ownIdentity();
  // The id of a boot is random: the same id means the same machine, even under another host name.
  const isSameBoot = identity.bootId !== '' && identity.bootId === here.bootId;
  if (!isSameBoot) {
    if (identity.host !== here.host) return 'other-host';
    if (identity.bootId !== '' && here.bootId !== '') return false;
    if (identity.bootId !== here.bootId) return 'other-host';
  }
  if (identity.pidNamespace !== here.pidNamespace) return 'other-host';
  if (identity.startTime !== '' && here.startTime !== '') {
    return startTimeOf(identity.pid) === identity.startTime;
  }
  return answersToSignals(identity.pid);
}

function answersToSignals(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return errnoOf(error) !== 'ESRCH';
  }
}

function currentBootId(): string {
  return orElse(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1'), '')
    .trim()
    .replaceAll('-', '');
}

function currentPidNamespace(): string {
  return /[0-9]+/.exec(orElse(() => readlinkSync('/proc/self/ns/pid'), ''))?.[0] ?? '';
}

function startTimeOf(pid: number): string | undefined {
  return processFields(pid)[19];
}

/**
 * The fields of a process from its state on; none where the system has no `/proc`, and of a process that has ended. A zombie
 * has ended: it holds nothing and waits for its parent.
 * @see proc(5), `/proc/<pid>/stat`
 */
export function processFields(pid: number): string[] {
  const stat = orElse(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), '');
  // The name of the program comes before, in parentheses, and may itself have spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ['Z', 'X', ''].includes(fields[0] ?? '') ? [] : fields;
}

let found: string | undefined;

/**
 * Finds the folder that uwf is installed in: the nearest one upward from this module whose `package.json` is uwf's own.
 *
 * Works in the sources, in the library's bundle and in the command's bundle. The path is absolute, and is found once per process.
 * @throws {Error} if no such folder exists: the installation is broken
 */
export function packageRoot(): string {
  found ??= findPackageRoot(import.meta.dirname);
  return found;
}

function findPackageRoot(startFolder: string): string {
  for (let folder = startFolder; ; folder = dirname(folder)) {
    if (isPackageRoot(folder)) return folder;
    if (folder === dirname(folder)) {
      throw new Error(`no package.json of uwf in ${startFolder} or above: the installation is broken`);
    }
  }
}

function isPackageRoot(folder: string): boolean {
  // Folders without a manifest, or with one that is not JSON, are simply not it.
  const manifest = orElse((): unknown => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')), undefined);
  return typeof manifest === 'object' && manifest !== null && 'name' in manifest && manifest.name === 'uwf';
}
