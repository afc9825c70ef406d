import type { GitObject, ObjectId } from '../format/object-id.ts';
import { runGit, type GitRun } from '../process/run-git.ts';
import type { Quarantine } from '../stores/quarantine.ts';

/** More loose objects than this go into a pack instead of memory. */
const MAX_LOOSE_BYTES = 1024 * 1024;

/**
 * Readies the loose objects of a quarantine for the repository: few are read into memory, many are packed in the quarantine,
 * which moves packs when it is taken over.
 *
 * @param run how git runs where it sees the quarantine
 * @param ids which of them; default: all
 * @returns those that are not in a pack
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function packLooseObjects(
  run: Omit<GitRun, 'args'>,
  quarantine: Quarantine,
  ids?: readonly ObjectId[],
): Promise<GitObject[]> {
  const loose = quarantine.looseFiles();
  const wanted = ids ?? loose.ids;
  if (loose.bytes <= MAX_LOOSE_BYTES) return quarantine.looseObjects(wanted);
  // git takes no empty list.
  if (wanted.length === 0) return [];
  const args = ['pack-objects', '--quiet', '--window=0', quarantine.packPrefix];
  await runGit({ ...run, args, input: `${wanted.join('\n')}\n` });
  return [];
}
