import { hintToResume } from '../thread/hint-to-go-on.ts';
import type { EngineContext } from './context.ts';
import { describeThread, type ThreadView } from './describe.ts';

/** Says which command lets a suspended thread go on; where a child thread of it waits, by what that waits for. */
export async function hintToAnswer(
  context: EngineContext,
  { thread, waitsFor, suspension }: ThreadView,
): Promise<string | undefined> {
  const asking = waitsFor === null ? suspension : (await describeThread(context, waitsFor)).suspension;
  return asking === null ? undefined : hintToResume(thread, asking);
}
