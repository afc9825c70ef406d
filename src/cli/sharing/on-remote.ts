import { describeThread } from '../../engine/describe/describe.ts';
import { readingContext } from '../../engine/engine-context.ts';
import type { ThreadOver } from '../../engine/events.ts';
import type { ResumeOptions } from '../../engine/verbs/resume.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { listCommits, resolveRevision } from '../../git/process/revisions.ts';
import type { Repository } from '../../git/repository.ts';
import { listRemotes } from '../../git/repository/own-programs.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { readHead } from '../../git/worktree/snapshot.ts';
import { claimRef, findClaim } from '../../sync/claims.ts';
import type { FollowedThread } from '../../sync/followed-thread.ts';
import { idsHere } from '../../sync/offer-threads.ts';
import { readTrackedRef } from '../../sync/shared-refs.ts';
import { removeClaims, stopWork } from '../../sync/stop-work.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { ThreadMoved, WrongThreadState } from '../../thread/thread-errors.ts';
import { activeRef, type ThreadId } from '../../thread/thread-id.ts';
import { isOver } from '../../thread/thread-state.ts';
import type { ExitCode } from '../errors/exit-code.ts';
import { UsageError } from '../errors/usage-error.ts';
import { goOnThere } from '../follow/follow-remote.ts';
import { openEngine } from '../open/open-engine.ts';
import type { Output } from '../output/output.ts';
import { oneLine } from '../output/width.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { startHere, type StartValues } from '../threads/start-thread.ts';
import {
  bringThread,
  followFromHere,
  type MayPublish,
  openRemoteWorld,
  type RemoteWorld,
  sendThread,
} from './remote-run.ts';

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

/** Stores an answer to a thread of a remote, sends it there, and follows what workers make of it. */
export async function resumeOn(
  { cli, out }: { cli: CliEnvironment; out: Output },
  thread: string,
  answer: Pick<ResumeOptions, 'answer' | 'more' | 'givenAtMs'>,
  { on, background, ...mayPublish }: MayPublish & { on: string; background: boolean },
): Promise<ExitCode> {
  const world = await openRemoteWorld({ cli, out }, on);
  const { followed: brought, before } = await bringThread(world, thread);
  if (answer.answer !== undefined && before !== undefined)
    await assertSameQuestion(world.repository, brought.thread, before);
  await assertNotElsewhere(world, brought);
  const engine = await openEngine(cli, world.repository);
  const resumed = await engine.answer(brought.thread, answer);
  // What has ended goes on as a new thread.
  const followed = resumed === brought.thread ? brought : followFromHere(world, resumed);
  await sendThread(world, resumed, mayPublish);
  return goOnThere(world, resumed, followed, background);
}

/**
 * Refuses the answer to a question that was answered at the remote: the thread asks another one now, which was not here.
 * @param before the head before the thread was fetched
 * @throws {ThreadMoved}
 */
async function assertSameQuestion(repository: Repository, thread: ThreadId, before: ObjectId): Promise<void> {
  const { head } = await getThread(repository, thread);
  if (head !== before && (await readThreadCommit(repository, before)).kind === 'suspend')
    throw new ThreadMoved(thread, undefined, head);
}

type World = { cli: CliEnvironment; out: Output };

/** Stops the work on a thread at a remote, and on the threads below it. Prints which workers had them. */
export async function stopOn({ cli, out }: World, text: string, on: string): Promise<void> {
  const world = await openRemoteWorld({ cli, out }, on);
  const { repository, remote } = world;
  const { followed } = await bringThread(world, text);
  const { thread, status, head } = await describeThread(readingContext(repository), followed.thread);
  if (isOver(status)) {
    throw new WrongThreadState(thread, status, 'it is over already', `run 'uwf thread show ${thread}'`);
  }
  const claims = await stopWork(repository, remote, followed.open, { env: cli.env, signal: cli.signal });
  const workers = claims.map(({ thread, worker, host }) => ({ thread, worker, host }));
  const result = { thread, status, head, wasRunning: workers.length > 0, isKilled: false, workers };
  await out.result(result, () => {
    const names = [...new Set(workers.map(({ worker, host }) => `${oneLine(worker)} on ${oneLine(host)}`))];
    const had =
      names.length === 0
        ? 'no worker had claimed it'
        : `${names.join(', ')} publishes nothing more of it, and ends its agent when it next looks at ${remote.name}`;
    return `thread ${out.paint.id(thread)} is stopped at ${remote.name}: ${had}`;
  });
  out.hint(`'uwf thread run ${thread} --on ${remote.name}' lets it go on`);
}

/**
 * Cancels a thread of a remote: as it stands there, with the threads below it.
 * @param cancel cancels it in this repository
 */
export async function cancelOn(
  { cli, out }: World,
  text: string,
  on: string,
  cancel: (repository: Repository, thread: string) => Promise<ThreadOver>,
): Promise<ThreadOver> {
  const world = await openRemoteWorld({ cli, out }, on);
  const { repository, remote } = world;
  const options = { env: cli.env, signal: cli.signal };
  const { followed } = await bringThread(world, text);
  const { status } = await describeThread(readingContext(repository), followed.thread);
  if (isOver(status)) return cancel(repository, followed.thread);
  // No worker publishes a step while the end is written and sent.
  await stopWork(repository, remote, followed.open, options);
  await followed.look();
  const places = followed.open;
  const over = await cancel(repository, followed.thread);
  await sendThread(
    world,
    followed.thread,
    {},
    places.map(({ thread }) => thread),
  );
  await removeClaims(repository, remote, places, options);
  return over;
}

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
