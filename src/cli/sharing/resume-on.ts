import type { ResumeOptions } from '../../engine/verbs/resume.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { ThreadMoved } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ExitCode } from '../errors/exit-code.ts';
import { goOnThere } from '../follow/follow-remote.ts';
import { openEngine } from '../open/open-engine.ts';
import type { Output } from '../output/output.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { assertNotElsewhere } from './at-other-remote.ts';
import { bringThread, followFromHere, openRemoteWorld, sendThread, type MayPublish } from './remote-run.ts';

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
