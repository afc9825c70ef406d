/**
 * Why a path cannot be used:
 *
 * - `outside`: it leads out of the working folder, by its name or through a symbolic link
 * - `refused`: it belongs to git or to uwf
 * - `moved`: it leads elsewhere than when it was checked: a link or another folder has replaced a part of it
 * - `unreadable`: what lies there cannot be read or written as a file
 */
export type PathFaultKind = 'outside' | 'refused' | 'moved' | 'unreadable';

/** A path that an agent cannot use through uwf. The message names it. */
export class PathFault extends Error {
  readonly kind: PathFaultKind;
  /** What is wrong, as the end of a sentence about the path. */
  readonly reason: string;

  constructor(kind: PathFaultKind, path: string, reason: string) {
    super(`${path} ${reason}`);
    this.kind = kind;
    this.reason = reason;
  }
}
