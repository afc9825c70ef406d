import { lstatSync } from 'node:fs';
import type { GitEnvironment } from './git-directory.ts';

/**
 * Tells whether a path belongs to this user, as git tells it: root may also use what belongs to who called `sudo`. Of a
 * link it is the link's owner that counts, and nothing belongs to this user that is not there.
 *
 * Source: `is_path_owned_by_current_uid` in git's git-compat-util.h; `GIT_TEST_ASSUME_DIFFERENT_OWNER` in its setup.c.
 */
export function isOwn(path: string, env: GitEnvironment): boolean {
  if (/^(?:1|true|yes|on)$/i.test(env['GIT_TEST_ASSUME_DIFFERENT_OWNER'] ?? '')) return false;
  const user = process.geteuid?.();
  // A system that does not number its users.
  if (user === undefined) return true;
  const owner = lstatSync(path, { throwIfNoEntry: false })?.uid;
  const [, caller] = (user === 0 && /^\s*\+?(\d+)$/.exec(env['SUDO_UID'] ?? '')) || [];
  return owner === user || (owner !== undefined && owner === Number(caller));
}
