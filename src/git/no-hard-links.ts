import { errnoOf } from './object-errors.ts';

const codes = new Set(['EPERM', 'EXDEV', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/** Tells whether `link` failed because this file system has no hard links, or not between these folders. */
export function isWithoutHardLinks(error: unknown): boolean {
  return codes.has(errnoOf(error) ?? '');
}
