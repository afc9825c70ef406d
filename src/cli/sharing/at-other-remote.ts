import { UwfError } from '../../errors.ts';
import { listRemotes } from '../../git/repository/choose-remote.ts';
import { claimRef, findClaim } from '../../sync/claims.ts';
import type { FollowedThread } from '../../sync/followed-thread.ts';
import { readTrackedRef } from '../../sync/shared-refs.ts';
import { activeRef } from '../../thread/thread-id.ts';
import { oneLine } from '../output/width.ts';
import type { RemoteWorld } from './remote-run.ts';

/**
 * Makes sure, before a thread goes on at a remote, that no worker of another one takes the same turns: both would be paid. It
 * goes by what the other remotes had when they were last seen. Where no worker was at work there, it only says so.
 * @throws {UwfError} `at-work-elsewhere`
 */
export async function assertNotElsewhere(
  { cli, out, repository, remote }: RemoteWorld,
  { thread, open }: Pick<FollowedThread, 'thread' | 'open'>,
): Promise<void> {
  const { location } = repository;
  if (location === undefined) return;
  for (const name of await listRemotes({ location, env: cli.env })) {
    if (name === remote.name) continue;
    const other = { name, isConfigured: true };
    const stop = `'uwf thread stop ${thread} --on ${name}'`;
    let isStopped = false;
    for (const { thread: id } of open) {
      const claim = await findClaim(repository.objects, await readTrackedRef(repository, other, claimRef(id)));
      isStopped ||= claim?.stoppedBy !== undefined;
      if (claim === undefined || claim.givenBack === true || claim.stoppedBy !== undefined) continue;
      const who = `${oneLine(claim.worker)} on ${oneLine(claim.host)}`;
      throw new UwfError(
        `${who} works on thread ${id} at ${name}, and workers of ${remote.name} would take the same turn`,
        {
          code: 'at-work-elsewhere',
          kind: 'conflict',
          hint: `${stop} ends that first; if it may be over, 'uwf fetch ${name}' looks`,
          facts: { thread: id, remote: name, worker: claim.worker, host: claim.host },
        },
      );
    }
    if (!isStopped && (await readTrackedRef(repository, other, activeRef(thread))) !== undefined)
      out.hint(`${name} has the thread, too: if it has workers, ${stop} keeps them from taking the same turns`);
  }
}
