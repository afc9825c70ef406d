import { delimiter, dirname, join } from 'node:path';
import { packageRoot } from '../package-root.ts';
import type { EngineContext } from './context.ts';

/**
 * The environment of an agent's processes: uwf's own, with the thread, the role and a folder named in it, and uwf's
 * bin folder first on the PATH, so that an agent can shell out to `uwf cas get <hash>`.
 */
export function agentEnvironment(
  context: EngineContext,
  turn: { threadId: string; role: string },
): Record<string, string> {
  const path = [join(packageRoot(), 'bin'), context.env['PATH'], dirname(process.execPath)];
  return {
    ...context.env,
    PATH: path.filter(Boolean).join(delimiter),
    UWF_THREAD: turn.threadId,
    UWF_ROLE: turn.role,
    ...(context.repository.location && { UWF_REPOSITORY: context.repository.location.commonDir }),
  };
}
