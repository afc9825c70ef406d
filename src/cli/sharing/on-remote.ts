import { setTimeout as sleep } from 'node:timers/promises';
import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineEvent, ThreadOver } from '../../engine/events.ts';
import type { ResumeOptions } from '../../engine/verbs/resume.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { listCommits, resolveRevision } from '../../git/process/revisions.ts';
import type { Repository } from '../../git/repository.ts';
import { listRemotes } from '../../git/repository/own-programs.ts';
import { RemoteUnreachable } from '../../git/transport/git-output.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { readHead } from '../../git/worktree/snapshot.ts';
import { inPlaceOf } from '../../or-else.ts';
import { type Claim, claimRef, findClaim } from '../../sync/claims.ts';
import { fetchFrom } from '../../sync/fetch-threads.ts';
import { FollowedThread, type Look } from '../../sync/followed-thread.ts';
import { idsHere } from '../../sync/offer-threads.ts';
import { pushThreads } from '../../sync/push-threads.ts';
import { readTrackedRef } from '../../sync/shared-refs.ts';
import { letGoOn, removeClaims, stopWork } from '../../sync/stop-work.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { ThreadMoved, ThreadNotFound, WrongThreadState } from '../../thread/thread-errors.ts';
import { activeRef, type ThreadId } from '../../thread/thread-id.ts';
import { isOver } from '../../thread/thread-state.ts';
import { monotonicMs } from '../../time/clock.ts';
import { EXIT, type ExitCode, UsageError } from '../errors/exit-code.ts';
import { showOver } from '../follow/follow-run.ts';
import { isEndOfRun } from '../follow/print-events.ts';
import { createRunView } from '../follow/run-view.ts';
import { scanningRedactor } from '../open/open-config.ts';
import { openEngine } from '../open/open-engine.ts';
import { findOpenBelow, openRemoteHere } from '../open/open-remote.ts';
import { openForWriting } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import { oneLine } from '../output/text.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { reasonOf } from '../threads/known-claims.ts';
import { startHere, type StartValues } from '../threads/start-thread.ts';
import { hintAtHeldBack } from './sync-report.ts';

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

/** Checks that the remote has the commit which a new thread's work tree is made from: that of `revision`, or HEAD. */
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

/** Refuses an answer where the question at the head `before` was answered at the remote: the thread asks another one now. */
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
  const { thread, status, head } = await describeThread({ repository }, followed.thread);
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

/** Cancels a thread of a remote as it stands there, with the threads below it; `cancel` does so in this repository. */
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
  const { status } = await describeThread({ repository }, followed.thread);
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

type RemoteWorld = { cli: CliEnvironment; out: Output; repository: Repository; remote: Remote };

type MayPublish = { 'with-commits'?: boolean; 'allow-secrets'?: boolean };

/** Opens the repository and the remote of `--on`, which has to have a name: the refs of a mere URL are not remembered. */
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

/** A thread of the remote as it is followed from now on, with its news since `before`, the head that was here. */
type Brought = { followed: FollowedThread; news: EngineEvent[]; before: ObjectId | undefined };

/** Brings a thread of the remote here, as it stands there, with the threads below it that are not over. */
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

/** Follows a thread that is here and at the remote from a known head on; without one, from its start on. */
function followFromHere({ cli, repository, remote }: RemoteWorld, thread: ThreadId, from?: ObjectId): FollowedThread {
  const { env, signal } = cli;
  return new FollowedThread({ repository }, remote, thread, { env, signal }, from);
}

/** Pushes a thread, the threads below it that are not over, and `also`; fails with `not-sent` if one of them stays here. */
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

/** The shortest and the longest time between two looks at the remote, in ms. */
const POLL_MS = { min: 1_000, max: 5_000 };

/** After so long without news of a thread that no worker has claimed, it is said what may be the matter; ms. */
const QUIET_MS = 15_000;

/** Lets workers of a remote go on with a thread that was sent there, and follows it, or prints its id if `isBackground`. */
export async function goOnThere(
  world: RemoteWorld,
  thread: ThreadId,
  followed: FollowedThread,
  isBackground: boolean,
  news: readonly EngineEvent[] = [],
): Promise<ExitCode> {
  const { cli, out, repository, remote } = world;
  const { env, signal } = cli;
  await letGoOn(repository, remote, followed.open, { env, signal });
  if (!isBackground) return followRemote(world, thread, followed, news);
  const { head, status, workflow } = await describeThread({ repository }, thread);
  await out.result({ thread, head, workflow, status, remote: remote.name }, () => thread);
  out.hint(`'uwf thread run ${thread} --on ${remote.name}' follows it`);
  return EXIT.done;
}

/** Shows what workers do with a thread, as a run is shown, until it is over or suspended. Ctrl-C ends the following only. */
async function followRemote(
  world: RemoteWorld,
  thread: ThreadId,
  followed: FollowedThread,
  news: readonly EngineEvent[],
): Promise<ExitCode> {
  const { cli, out, repository, remote } = world;
  const view = createRunView(cli, out, thread);
  for (const event of news) view.tell(event);
  const workers = new Map<string, string>();
  let isAway = false;
  let quietSinceMs = monotonicMs();
  for (let waitMs = POLL_MS.min; ;) {
    const look = await tryToLook(followed, cli.signal, (text) => {
      if (!isAway) out.note(`uwf: ${text}; trying again`);
      isAway = true;
    });
    if (cli.signal.aborted) break;
    if (look !== undefined) {
      if (isAway) out.note(`uwf: ${remote.name} is back`);
      isAway = false;
      for (const claim of look.claims) await tellClaim(world, claim, workers);
      for (const event of look.events) view.tell(event);
      if (look.over !== undefined) {
        // A run that was followed from its end on tells of it once more.
        if (!look.events.some(({ event, thread: id }) => id === thread && event === look.over?.event))
          view.tell(look.over);
        await view.close();
        const code = await showOver({ cli, out }, repository, look.over);
        if (code === EXIT.suspended)
          out.hint(`with --on ${remote.name} the answer is sent back, and its workers go on`);
        return code;
      }
    }
    const isNew = look !== undefined && look.events.length + look.claims.length > 0;
    if (isNew || look?.isClaimed !== false) quietSinceMs = monotonicMs();
    else if (monotonicMs() - quietSinceMs >= QUIET_MS) {
      out.hint(`no worker has claimed it. 'uwf worker' starts one; one that cannot run the turn says why in its log`);
      quietSinceMs = Infinity;
    }
    waitMs = isNew ? POLL_MS.min : Math.min(1.5 * waitMs, POLL_MS.max);
    await sleep(waitMs, undefined, { signal: cli.signal }).catch(() => {});
    if (cli.signal.aborted) break;
  }
  await view.close();
  out.note(`thread ${thread} goes on at ${remote.name}; only the following has ended`);
  out.hint(
    `'uwf thread run ${thread} --on ${remote.name}' follows it again, 'uwf thread stop ${thread} --on ${remote.name}' stops it`,
  );
  return EXIT.interrupted;
}

/** @returns `undefined` if the remote is away, or the command is stopped */
async function tryToLook(
  followed: FollowedThread,
  signal: AbortSignal,
  onAway: (text: string) => void,
): Promise<Look | undefined> {
  try {
    return await followed.look();
  } catch (error) {
    if (signal.aborted) return undefined;
    if (!(error instanceof RemoteUnreachable)) throw error;
    onAway(error.message);
    return undefined;
  }
}

/** Says which worker has a thread, when it is another one than before. */
async function tellClaim({ out }: RemoteWorld, claim: Claim, workers: Map<string, string>): Promise<void> {
  const { thread, worker, host, session, role = null, stoppedBy = null, reason = null } = claim;
  if (workers.get(thread) === session) return;
  workers.set(thread, session);
  if (out.isJson) return out.line({ event: 'thread.claimed', thread, worker, host, role, stoppedBy, reason });
  const text =
    stoppedBy === null
      ? `taken by ${oneLine(worker)} on ${oneLine(host)}`
      : `stopped by ${oneLine(stoppedBy)}${reasonOf(reason)}`;
  out.note(`     ${text}`);
}
