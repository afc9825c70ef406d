import { createHash } from 'node:crypto';
import { constants, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orElse, tryTo } from '../../or-else.ts';
import { isNotThere } from '../format/object-errors.ts';
import type { RepositoryLocation } from '../repository.ts';
import { makeDerivedFolder, replaceFile } from '../system/derived-file.ts';
import { READ, readRegularFile } from '../system/read-regular-file.ts';
import { REWRITE, writeOwnFile } from '../system/state-folder.ts';

/** A larger index is not kept: its files are compared again. */
const MAX_BYTES = 512 * 1024 * 1024;
/** The form of a kept index. It rises when the meaning of its content changes. */
const FORM = 'refreshed-index 1';
const HEADER_BYTES = 256;

/** A copy of a work tree's index for a snapshot. */
export type IndexCopy = {
  path: string;
  /** Identifies the content of the user's index when it was copied; `undefined` if there is none. */
  of: string | undefined;
  /** Before this time nothing was compared, in seconds since 1970. */
  takenAt: number;
};

/**
 * Copies the index of a work tree, with the times of files that an earlier snapshot found unchanged; a missing index is an
 * empty one.
 *
 * What an earlier snapshot kept is used only if the user's index has the same content as then: the copy then differs from it
 * in times alone. git treats a file as unchanged if its times match the index and are older than the index file. The copy
 * must not be newer than what it was made from, or a change at the same moment would not be seen.
 * Source: git's Documentation/technical/racy-git.txt.
 *
 * @param to in a folder that was made just now
 */
export function copyIndex(location: RepositoryLocation, to: string): IndexCopy {
  const takenAt = secondsOf(Math.min(Date.now(), statSync(dirname(to)).mtimeMs));
  const from = join(location.gitDir, 'index');
  // The time first: if git replaces the index in between, the copy is older than its content.
  const original = orElse(() => ({ mtimeMs: statSync(from).mtimeMs, data: readFileSync(from) }), undefined, isNotThere);
  if (original === undefined) return { path: to, of: undefined, takenAt };
  const of = digestOf(original.data);
  const kept = readKept(location, of);
  const seconds = kept?.takenAt ?? secondsOf(original.mtimeMs);
  writeFileSync(to, kept?.data ?? original.data);
  utimesSync(to, seconds, seconds);
  return { path: to, of, takenAt };
}

/**
 * Keeps the copy of an index after git has compared the files, for the next snapshot. Ignores failure: the next snapshot
 * compares them again.
 */
export function keepIndex(location: RepositoryLocation, { path, of, takenAt }: IndexCopy): void {
  if (of === undefined) return;
  const place = keptAt(location);
  tryTo(() => {
    const data = readFileSync(path);
    const header = `${FORM} ${of} ${digestOf(data)} ${takenAt}\n`.padEnd(HEADER_BYTES);
    makeDerivedFolder(dirname(place));
    writeOwnFile(`${place}.tmp`, REWRITE, Buffer.concat([Buffer.from(header), data]));
    replaceFile(`${place}.tmp`, place);
  });
}

function readKept(location: RepositoryLocation, of: string): { data: Buffer; takenAt: number } | undefined {
  const bytes = orElse(() => readRegularFile(keptAt(location), MAX_BYTES, READ | constants.O_NOFOLLOW), undefined);
  if (bytes === undefined) return undefined;
  const data = bytes.subarray(HEADER_BYTES);
  const [form, version, origin, digest, takenAt] = bytes.toString('latin1', 0, HEADER_BYTES).trim().split(' ');
  const isWhole = `${form} ${version}` === FORM && origin === of && digest === digestOf(data);
  return isWhole && /^\d+$/.test(takenAt ?? '') ? { data, takenAt: Number(takenAt) } : undefined;
}

/** In the work tree's own folder of git, which `git worktree remove` removes. */
function keptAt({ gitDir }: RepositoryLocation): string {
  return join(gitDir, 'uwf', 'refreshed-index');
}

function digestOf(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}
