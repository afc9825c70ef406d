import type { ResumeOptions } from '../../engine/verbs/store-answer.ts';
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
  answer: Pick<ResumeOptions, 'answer' | 'more'>,
  { on, background, ...mayPublish }: MayPublish & { on: string; background: boolean },
): Promise<ExitCode> {
  const world = await openRemoteWorld({ cli, out }, on);
  const { followed: brought } = await bringThread(world, thread);
  await assertNotElsewhere(world, brought);
  const engine = await openEngine(cli, world.repository);
  const resumed = await engine.answer(brought.thread, answer);
  // What has ended goes on as a new thread.
  const followed = resumed === brought.thread ? brought : followFromHere(world, resumed);
  await sendThread(world, resumed, mayPublish);
  return goOnThere(world, resumed, followed, background);
}
