import { UwfError } from '../../errors.ts';
import { listCommits, resolveRevision } from '../../git/process/revisions.ts';
import type { Repository } from '../../git/repository.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { readHead } from '../../git/worktree/snapshot.ts';
import { idsHere } from '../../sync/offer-threads.ts';
import { UsageError } from '../errors/usage-error.ts';
import type { ExitCode } from '../errors/exit-code.ts';
import { goOnThere } from '../follow/follow-remote.ts';
import { openEngine } from '../open/open-engine.ts';
import type { Output } from '../output/output.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { startHere, type StartValues } from '../threads/start-thread.ts';
import { followFromHere, openRemoteWorld, sendThread, type MayPublish } from './remote-run.ts';

/**
 * Starts a thread here, sends it to a remote, and follows what workers make of it. It has a work tree of its own wherever it
 * runs, made from a commit that the remote has.
 */
export async function startOn(
  { cli, out }: { cli: CliEnvironment; out: Output },
  workflow: string,
  { on, background, ...options }: StartValues & MayPublish & { on: string; background: boolean },
): Promise<ExitCode> {
  const withCommits = options['with-commits'] === true;
  if (options['with-changes'] && !withCommits) {
    throw new UsageError('--with-changes sends what is not committed: give --with-commits, too');
  }
  const world = await openRemoteWorld({ cli, out }, on);
  const { repository, remote } = world;
  const { location } = repository;
  const hasCommit = location !== undefined && (await readHead(repository, location)) !== undefined;
  if (!withCommits) await assertBaseThere(cli, repository, remote, options.from ?? 'HEAD');
  const isolate = options.isolate || (hasCommit && options.from === undefined && !options['with-changes']);
  const request = { workflow, options: { ...options, isolate }, requireAgents: false };
  const { thread } = await startHere(cli, repository, await openEngine(cli, repository), request);
  await sendThread(world, thread, options);
  return goOnThere(world, thread, followFromHere(world, thread), background);
}

/**
 * Checks, before a thread is started for a remote, that the remote has the commit which the thread's work tree is made from.
 * @param revision what the user named, or HEAD
 * @throws {UwfError} `base-not-there` if it lacks the commit, or one before it
 */
async function assertBaseThere(
  cli: CliEnvironment,
  repository: Repository,
  remote: Remote,
  revision: string,
): Promise<void> {
  const { location } = repository;
  if (location === undefined) return;
  const found = await resolveRevision({ location, env: cli.env }, revision);
  if (found?.kind !== 'commit') return;
  const without = await idsHere(repository, await remote.list(['refs/*'], cli.signal));
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
