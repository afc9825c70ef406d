import type { GitPlace } from './spawn-git.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { runGit } from './run-git.ts';

/** The object that a revision names; tags are followed. */
export type Revision = { kind: 'commit' | 'tree' | 'blob'; oid: ObjectId };

/**
 * Finds the object that a revision names, in any form of gitrevisions(7): `main`, `HEAD~2`, `v1.0`, `HEAD:src`.
 *
 * @returns `undefined` if it names none
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function resolveRevision(git: GitPlace, text: string): Promise<Revision | undefined> {
  if (text === '' || text.startsWith('-') || /[\n\0]/.test(text)) return undefined;
  // After a colon comes a path, and `^{}` would become part of it.
  const input = `${text.includes(':') ? text : `${text}^{}`}\n`;
  const args = ['cat-file', '--batch-check=%(objectname) %(objecttype)'];
  const [oid = '', kind] = (await runGit({ ...git, args, input })).toString('utf8').trim().split(' ');
  const isKnown = kind === 'commit' || kind === 'tree' || kind === 'blob';
  return isKnown && isObjectId(oid) ? { kind, oid } : undefined;
}
