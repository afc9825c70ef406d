import { readHead } from '../../git/worktree/snapshot.ts';
import { UsageError } from '../errors/usage-error.ts';
import type { ExitCode } from '../errors/exit-code.ts';
import { goOnThere } from '../follow/follow-remote.ts';
import { openEngine } from '../open/open-engine.ts';
import type { Output } from '../output/output.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { startHere, type StartValues } from '../threads/start-thread.ts';
import { assertBaseThere } from './base-at-remote.ts';
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
