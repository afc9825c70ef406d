import { UwfError } from '../../errors.ts';
import type { EngineEvent } from '../../engine/events.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { inPlaceOf } from '../../or-else.ts';
import { fetchFrom } from '../../sync/fetch-threads.ts';
import { FollowedThread } from '../../sync/followed-thread.ts';
import { pushThreads } from '../../sync/push-threads.ts';
import { getThread } from '../../thread/find-thread.ts';
import { ThreadNotFound } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { UsageError } from '../errors/usage-error.ts';
import { scanningRedactor } from '../open/open-redactor.ts';
import { isEndOfRun } from '../follow/print-events.ts';
import { findOpenBelow, openRemoteHere } from '../open/open-remote.ts';
import { openForWriting } from '../open/open-repository.ts';
import { readingContext } from '../../engine/engine-context.ts';
import type { Output } from '../output/output.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { hintAtHeldBack } from './sync-report.ts';

/** What a command with `--on` works with. */
export type RemoteWorld = { cli: CliEnvironment; out: Output; repository: Repository; remote: Remote };

/** What a user says that may be published. */
export type MayPublish = { 'with-commits'?: boolean; 'allow-secrets'?: boolean };

/**
 * Opens the repository and the remote of `--on`.
 * @throws {UsageError} for a remote without a name: its refs are not remembered
 */
export async function openRemoteWorld(
  { cli, out }: { cli: CliEnvironment; out: Output },
  name: string,
): Promise<RemoteWorld> {
  const repository = await openForWriting(cli);
  const remote = await openRemoteHere(cli, repository, { name, direction: 'push' });
  if (!remote.isConfigured)
    throw new UsageError(`--on needs a remote with a name: git remote add <name> ${remote.url}`);
  return { cli, out, repository, remote };
}

/**
 * A thread of the remote as it is followed from now on, and what has happened to it since this repository last saw it: at the
 * head `before`, if it was here.
 */
export type Brought = { followed: FollowedThread; news: EngineEvent[]; before: ObjectId | undefined };

/**
 * Brings a thread of the remote here, as it stands there, with the threads below it that are not over.
 * @param text its id or first characters, here or there
 */
export async function bringThread(world: RemoteWorld, text: string): Promise<Brought> {
  const { cli, repository, remote } = world;
  const { env, signal } = cli;
  const before = await getThread(repository, text).catch(inPlaceOf(ThreadNotFound, undefined));
  await fetchFrom(repository, remote, { env, signal, threads: [before?.id ?? text] }, true);
  const { id } = await getThread(repository, before?.id ?? text);
  const followed = followFromHere(world, id, before?.head);
  const { events } = await followed.look();
  const news = events.filter((event) => event.thread !== id || !isEndOfRun(event));
  return { followed, news, before: before?.head };
}

/**
 * Follows a thread that is here and at the remote.
 * @param from the head that is known; absent: what happened from the start on is told
 */
export function followFromHere(
  { cli, repository, remote }: RemoteWorld,
  thread: ThreadId,
  from?: ObjectId,
): FollowedThread {
  const { env, signal } = cli;
  return new FollowedThread(readingContext(repository), remote, thread, { env, signal }, from);
}

/**
 * Pushes a thread and the threads below it that are not over.
 * @param also threads that go along, whether or not they are over
 * @throws {UwfError} `not-sent` if something of it stays here; why is said, and what can be done
 */
export async function sendThread(
  { cli, out, repository, remote }: RemoteWorld,
  thread: ThreadId,
  mayPublish: MayPublish,
  also: readonly ThreadId[] = [],
): Promise<void> {
  const { env, signal } = cli;
  const threads = [...new Set([thread, ...also, ...(await findOpenBelow(repository, thread))])];
  const report = await pushThreads({ repository }, remote, {
    env,
    signal,
    threads,
    withCommits: mayPublish['with-commits'],
    allowSecrets: mayPublish['allow-secrets'],
    redactor: await scanningRedactor(cli, repository),
  });
  const [held] = report.held;
  const [rejected] = report.rejected;
  const reason = held?.reason ?? rejected?.reason;
  if (reason === undefined) return;
  hintAtHeldBack(report, { repository, remote, withCommits: mayPublish['with-commits'] === true }, out);
  throw new UwfError(`thread ${held?.thread ?? thread} is not sent to ${remote.name}: ${reason}`, {
    code: 'not-sent',
    kind: rejected !== undefined ? 'refused' : mustStay(held) ? 'data' : 'conflict',
    hint: `it is stored here; 'uwf thread run ${thread} --on ${remote.name}' sends it again`,
    facts: { thread, remote: remote.name },
  });
}

function mustStay(held: { commits?: unknown; secrets?: unknown; isUnsound?: true } | undefined): boolean {
  return held?.commits !== undefined || held?.secrets !== undefined || held?.isUnsound === true;
}
