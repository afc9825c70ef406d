import { UwfError } from '../../errors.ts';
import type { ObjectFormat, ObjectId, ObjectType } from './object-id.ts';

/** An object whose content does not match its id or its type. */
export class CorruptObject extends UwfError {
  constructor(id: ObjectId, reason: string, cause?: unknown) {
    super(`object ${id} is corrupt: ${reason}`, {
      code: 'corrupt-object',
      kind: 'data',
      hint: "run 'git fsck' to see what else is damaged, and fetch the object again from another clone",
      cause,
      facts: { id, reason },
    });
  }
}

export const HINT_OF_MISSING: string =
  "in a partial clone, 'git fetch --refetch --no-filter' brings what was left out; else 'git fsck' says what is missing";

export function notInRepository(id: string): string {
  return `object ${id} is not in the repository`;
}

export class ObjectMissing extends UwfError {
  readonly id: ObjectId;
  constructor(id: ObjectId) {
    super(notInRepository(id), { code: 'object-missing', kind: 'data', hint: HINT_OF_MISSING });
    this.id = id;
  }
}

/** An object is larger, uncompressed, than the limit of the reader. */
export class ObjectTooLarge extends UwfError {
  readonly id: ObjectId;
  readonly bytes: number;
  readonly maxBytes: number;
  /** Its type, if the store knows it without reading the object. */
  readonly type: ObjectType | undefined;
  constructor(id: ObjectId, bytes: number, maxBytes: number, type?: ObjectType) {
    super(`object ${id} has ${bytes} bytes, more than the ${maxBytes} allowed here`, {
      code: 'object-too-large',
      kind: 'data',
      hint: `look at it with 'git cat-file -p ${id}'`,
    });
    this.id = id;
    this.bytes = bytes;
    this.maxBytes = maxBytes;
    this.type = type;
  }
}

export function objectFormatsDiffer(what: string, here: ObjectFormat): UwfError {
  const there = here === 'sha1' ? 'sha256' : 'sha1';
  return new UwfError(
    `${what} has objects of ${there}, and this repository of ${here}: git shares nothing between the two`,
    {
      code: 'object-formats-differ',
      kind: 'environment',
      hint: `nothing was changed; 'git init --object-format=${there}' makes a repository that can share with it`,
      facts: { what, here, there },
    },
  );
}

/** An object cannot be written because git would not accept it. */
export class UnwritableObject extends UwfError {
  constructor(reason: string) {
    super(`git would not accept this object: ${reason}`, {
      code: 'unwritable-object',
      kind: 'usage',
      facts: { reason },
    });
  }
}
/** What programs say about a full disk. Source: the C library. */
export const FULL_DISK: RegExp = /No space left on device|Disk quota exceeded/;

/** The disk, or the user's quota on it, is full. Nothing half-written stays. */
export class StorageFull extends UwfError {
  constructor(path: string, cause?: unknown) {
    super(`no space left to write ${path}`, {
      code: 'storage-full',
      kind: 'environment',
      hint: 'free some space and repeat; nothing half-written was left behind',
      cause,
      facts: { path },
    });
  }
}

/** A file may not grow further: a limit of this process, or of the file system. */
class FileLimitReached extends UwfError {
  constructor(path: string, cause?: unknown) {
    super(`${path} would become larger than a file may be here`, {
      code: 'file-limit',
      kind: 'environment',
      hint: "raise the limit with 'ulimit -f', and repeat; nothing half-written was left behind",
      cause,
      facts: { path },
    });
  }
}

/** The repository cannot be written to: a read-only file system, or permissions. */
export class StorageReadOnly extends UwfError {
  constructor(path: string, cause?: unknown) {
    super(`${path} cannot be written`, {
      code: 'storage-read-only',
      kind: 'environment',
      hint: 'check that the file system is writable and that the repository belongs to you',
      cause,
      facts: { path },
    });
  }
}

/** This process or this machine has reached its limit of open files. */
export class TooManyOpenFiles extends UwfError {
  constructor(cause?: unknown) {
    const limit = errnoOf(cause) === 'ENFILE' ? 'this machine' : 'this process';
    super(`${limit} has as many files open as it may`, {
      code: 'too-many-open-files',
      kind: 'environment',
      hint: "raise the limit with 'ulimit -n', or close other programs, and repeat; nothing that was stored is lost",
      cause,
    });
  }
}

const full = new Set(['ENOSPC', 'EDQUOT']);
const readOnly = new Set(['EROFS', 'EACCES', 'EPERM']);
const tooMany = new Set(['EMFILE', 'ENFILE']);
/** What the machine lacks, or what fails in it: no mistake of a program. */
const machine = new Set(['EAGAIN', 'EIO', 'ENOMEM', 'ENOLCK', 'ENXIO', 'ENODEV', 'ESTALE', 'ETIMEDOUT', 'EREMOTEIO']);

/** Converts an error of the file system that occurred while `path` was written, if its code is a known one. */
export function asStorageError(error: unknown, path: string): unknown {
  const code = errnoOf(error);
  if (code === undefined) return error;
  if (full.has(code)) return new StorageFull(path, error);
  if (code === 'EFBIG') return new FileLimitReached(path, error);
  if (readOnly.has(code)) return new StorageReadOnly(path, error);
  return isShortOfFiles(error) ? new TooManyOpenFiles(error) : error;
}

/** Converts an error of the file system that no code expected; others come back. `place` is named if it has no path. */
export function asEnvironmentError(error: unknown, place: string): unknown {
  const code = errnoOf(error);
  // Node's own errors of system calls have it, and errors of programs do not.
  if (code === undefined || typeof error !== 'object' || error === null || !('syscall' in error)) return error;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : place;
  if (code === 'ENOTDIR')
    return new UwfError(`there is no folder for ${path}: a file is in place of one`, {
      code: 'file-in-place-of-folder',
      kind: 'environment',
      hint: 'see which part of that path is a file, and move it away; nothing that was stored is lost',
      cause: error,
      facts: { path },
    });
  if (code === 'ELOOP' || code === 'ENAMETOOLONG')
    return new UwfError(`${code === 'ELOOP' ? 'links lead in a circle' : 'the name is too long for a file'}: ${path}`, {
      code: 'no-such-path',
      kind: 'usage',
      hint: 'name another path; nothing that was stored is lost',
      cause: error,
      facts: { path },
    });
  if (machine.has(code))
    return new UwfError(`this machine refuses ${String(error.syscall)} of ${path} (${code})`, {
      code: 'refused-by-machine',
      kind: 'environment',
      hint: 'see what it is short of, memory, processes or a sound disk, and repeat; nothing that was stored is lost',
      cause: error,
      facts: { path },
    });
  if (!readOnly.has(code)) return asStorageError(error, path);
  return new UwfError(`no permission for ${path} (${code}, ${String(error.syscall)})`, {
    code: 'no-permission',
    kind: 'environment',
    hint: 'look at its owner and its permissions, and whether its file system is writable; nothing that was stored is lost',
    cause: error,
    facts: { path },
  });
}

/** Does what writes `path`. Its errors go through {@link asStorageError}. */
export function storing<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStorageError(error, path);
  }
}

/** Tells whether an operation failed because no more files can be opened, which says nothing about the file. */
export function isShortOfFiles(error: unknown): boolean {
  return error instanceof TooManyOpenFiles || tooMany.has(errnoOf(error) ?? '');
}

/** The `code` of an error of Node or of an `fs` implementation (`ENOENT`); `undefined` for other values. */
export function errnoOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Tells whether an error says that there is no file, or that a file is in place of one of its folders. */
export function isNotThere(error: unknown): boolean {
  const code = errnoOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** What is known about a lock that was waited for in vain. */
type LockFacts = {
  lockPath: string;
  waitedMs: number;
};

/** A ref stayed locked for longer than the timeout. */
export class RefLocked extends UwfError {
  /** @param ref the ref's name, or `packed-refs` */
  constructor(ref: string, { lockPath, waitedMs }: LockFacts) {
    super(`${ref} is locked (${lockPath}), waited ${waitedMs} ms`, {
      code: 'ref-locked',
      kind: 'conflict',
      hint: `repeat; if no git is running in this repository, one that was killed left the lock: remove ${lockPath} by hand`,
      facts: { ref, lockPath, waitedMs },
    });
  }
}

/** `a` and `a/b` cannot both be refs: one would have to be a file and a folder at once. */
export class RefNameConflict extends UwfError {
  constructor(ref: string, existing: string) {
    super(`${ref} cannot exist beside ${existing}`, {
      code: 'ref-name-conflict',
      kind: 'conflict',
      hint: `delete ${existing} first, or choose another name`,
      facts: { ref, existing },
    });
  }
}

export class InvalidRefName extends UwfError {
  constructor(text: string, reason: string) {
    super(`'${text}' is not a ref name: ${reason}`, {
      code: 'invalid-ref-name',
      kind: 'usage',
      hint: "see 'git help check-ref-format'",
      facts: { text, reason },
    });
  }
}

/** A ref that git calls broken: its file holds neither an object id nor the name of another ref, or its name is none. */
export class BrokenRef extends UwfError {
  /** Its name, which git may not allow. */
  readonly ref: string;
  readonly reason: string;
  constructor(ref: string, reason: string) {
    super(`${ref} is broken: ${reason}`, {
      code: 'broken-ref',
      kind: 'data',
      hint: `find its last value with 'git fsck --lost-found' or in another clone, move the file ${ref} of the git folder away, and set it with 'git update-ref ${ref} <commit>'`,
    });
    this.ref = ref;
    this.reason = reason;
  }
}

/** The file of packed refs is damaged. Refs in it may be lost, and uwf does not rewrite it. */
export class BrokenPackedRefs extends UwfError {
  readonly ref = 'packed-refs';
  readonly path: string;
  readonly reason: string;
  constructor(path: string, reason: string) {
    super(`${path} is broken: ${reason}`, {
      code: 'broken-packed-refs',
      kind: 'data',
      hint: "put a copy of it back, or take what is damaged out of it in an editor; 'git fsck --lost-found' then finds the commits of refs that were in it",
    });
    this.path = path;
    this.reason = reason;
  }
}

export type RefDamage = BrokenRef | BrokenPackedRefs;
