import { UwfError } from '../errors.ts';
import type { RefName } from './ref-store.ts';

/** What is known about a lock that did not go away. */
export type LockFacts = {
  /** The lock file, as a person would have to look for it. */
  lockPath: string;
  /** Who holds it, where that is known: `process 4711 on this host`. */
  holder?: string | undefined;
  /** How long it was waited for. */
  waitedMs: number;
};

/** A ref stayed locked by git or another uwf for longer than the caller was willing to wait. */
export class RefLocked extends UwfError {
  readonly ref: string;
  readonly lockPath: string;
  readonly holder: string | undefined;
  readonly waitedMs: number;
  /** @param ref the ref's name, or `packed-refs` */
  constructor(ref: string, facts: LockFacts) {
    const by = facts.holder === undefined ? '' : ` by ${facts.holder}`;
    super(`${ref} is locked${by} (${facts.lockPath}), waited ${facts.waitedMs} ms`, {
      code: 'ref-locked',
      kind: 'conflict',
      hint:
        facts.holder === undefined
          ? `repeat; if no git is running in this repository, remove ${facts.lockPath} by hand`
          : 'repeat when it has finished',
    });
    this.ref = ref;
    this.lockPath = facts.lockPath;
    this.holder = facts.holder;
    this.waitedMs = facts.waitedMs;
  }
}

/** `a` and `a/b` cannot both be refs: one would have to be a file and a folder at once. */
export class RefNameConflict extends UwfError {
  readonly ref: RefName;
  readonly existing: string;
  constructor(ref: RefName, existing: string) {
    super(`${ref} cannot exist beside ${existing}`, {
      code: 'ref-name-conflict',
      kind: 'conflict',
      hint: `delete ${existing} first, or choose another name`,
    });
    this.ref = ref;
    this.existing = existing;
  }
}

/** A text that git would not take as a ref's name. */
export class InvalidRefName extends UwfError {
  readonly text: string;
  readonly reason: string;
  constructor(text: string, reason: string) {
    super(`'${text}' is not a ref name: ${reason}`, {
      code: 'invalid-ref-name',
      kind: 'usage',
      hint: "see 'git help check-ref-format'",
    });
    this.text = text;
    this.reason = reason;
  }
}

/** A ref's file holds neither an object id nor the name of another ref, as a power cut can leave it. */
export class BrokenRef extends UwfError {
  readonly ref: RefName;
  constructor(ref: RefName, reason: string) {
    super(`${ref} is broken: ${reason}`, {
      code: 'broken-ref',
      kind: 'data',
      hint: `find its last value with 'git fsck', then set it with 'git update-ref ${ref} <oid>'`,
    });
    this.ref = ref;
  }
}
