import { setTimeout as sleep } from 'node:timers/promises';
import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineEvent } from '../../engine/events.ts';
import { RemoteUnreachable } from '../../git/transport/git-output.ts';
import type { Claim } from '../../sync/claims.ts';
import { letGoOn } from '../../sync/stop-work.ts';
import type { FollowedThread, Look } from '../../sync/followed-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { EXIT, type ExitCode } from '../errors/exit-code.ts';
import { monotonicMs } from '../../time/clock.ts';
import { readingContext } from '../../engine/engine-context.ts';
import { oneLine } from '../output/width.ts';
import type { RemoteWorld } from '../sharing/remote-run.ts';
import { reasonOf } from '../threads/known-claims.ts';
import { showOver } from './follow-run.ts';
import { createRunView } from './run-view.ts';

/** The shortest and the longest time between two looks at the remote, in ms. */
const POLL_MS = { min: 1_000, max: 5_000 };

/** After so long without news of a thread that no worker has claimed, it is said what may be the matter; ms. */
const QUIET_MS = 15_000;

/**
 * Lets workers of a remote go on with a thread that was sent there, and follows it.
 * @param isBackground prints the thread's id and ends
 * @param news what is told first
 * @returns the exit code that tells how the thread stands
 */
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
  const { head, status, workflow } = await describeThread(readingContext(repository), thread);
  await out.result({ thread, head, workflow, status, remote: remote.name }, () => thread);
  out.hint(`'uwf thread run ${thread} --on ${remote.name}' follows it`);
  return EXIT.done;
}

/**
 * Shows what workers do with a thread, as a run is shown, until it is over or suspended. Ctrl-C ends the following only.
 * @returns the exit code that tells how the thread stands
 */
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
