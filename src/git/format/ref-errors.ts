import { UwfError } from '../../errors.ts';

/** What is known about a lock that was waited for in vain. */
export type LockFacts = {
  /** The path of the lock file. */
  lockPath: string;
  /** How long it was waited for. */
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

/** A text that is not a valid ref name. */
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

/** Damage among the refs of a repository. */
export type RefDamage = BrokenRef | BrokenPackedRefs;
