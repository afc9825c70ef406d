import { join } from 'node:path';
import { namesIn } from '../../git/system/files.ts';
import { orElse } from '../../or-else.ts';
import type { Repository } from '../../git/repository.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { configOrNone } from './open-config.ts';

/** How many packs git lets gather by default (`gc.autoPackLimit`). */
const MAX_GATHERED = 50;

/** Repacking so many small packs takes a fraction of a second. What takes longer continues without uwf. */
const MAX_WAIT_MS = 10_000;

/**
 * Repacks the small packs of a repository if many have gathered, and waits for it.
 *
 * A step repacks while its agent works. This is for commands that run no agent and may be given again and again: each leaves a
 * pack, a thousand `cas put` as much as 42 MB. No command fails because of it.
 */
export async function foldGathered(cli: CliEnvironment, repository: Repository): Promise<void> {
  const { location } = repository;
  if (location === undefined) return;
  const names = orElse(() => namesIn(join(location.commonDir, 'objects', 'pack')), []);
  if (names.filter((name) => name.endsWith('.idx')).length < MAX_GATHERED) return;
  const { foldPacks } = await configOrNone(cli, repository);
  if (foldPacks === false) return;
  const { repackInBackground } = await import('../../git/maintenance/repack.ts');
  await repackInBackground(repository, cli.env)?.settled(MAX_WAIT_MS);
}
