import { listCommits } from '../../git/process/list-commits.ts';
import { resolveRevision } from '../../git/process/resolve-revision.ts';
import type { Repository } from '../../git/repository.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { UwfError } from '../../errors.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/**
 * Checks, before a thread is started for a remote, that the remote has the commit which the thread's work tree is made from.
 * @param revision what the user named, or HEAD
 * @throws {UwfError} `base-not-there` if it lacks the commit, or one before it
 */
export async function assertBaseThere(
  cli: CliEnvironment,
  { location, objects }: Repository,
  remote: Remote,
  revision: string,
): Promise<void> {
  if (location === undefined) return;
  const found = await resolveRevision({ location, env: cli.env }, revision);
  if (found?.kind !== 'commit') return;
  const without = [];
  for (const id of new Set((await remote.list(['refs/*'], cli.signal)).map((ref) => ref.id))) {
    if (await objects.has(id)) without.push(id);
  }
  const missing = await listCommits({ location, env: cli.env }, { from: [found.oid], without, most: 1 });
  if (missing.length === 0) return;
  const short = found.oid.slice(0, 12);
  throw new UwfError(`${remote.name} does not have commit ${short}, from which the work tree would be made`, {
    code: 'base-not-there',
    kind: 'data',
    hint: "push it first ('git push'), or give --with-commits, which publishes it and all commits before it",
    facts: { commit: found.oid, remote: remote.name },
  });
}
