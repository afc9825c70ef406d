import { findStrays, sendSignal } from '../../agent/processes/process-group.ts';
import { readRunTree } from '../../engine/limits/run-tree.ts';
import { isAlive } from '../../git/system/process-identity.ts';
import { orElse } from '../../or-else.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const POLL_MS = 500;

/** No process has this number. */
const NO_LEADER = -1;

/**
 * Has a command that an agent runs end when the root of its tree of runs is gone, however that ended. Once the command has ended
 * what it runs itself, the agent is told to end too (SIGTERM): the process that would do so may be gone.
 *
 * Does nothing where the root cannot be seen, and where it is gone already: such a command runs no turn.
 * @returns tells whether it is
 */
export function endWithRoot(env: Environment, end: () => void): () => boolean {
  const root = orElse(() => readRunTree(env)?.process, undefined);
  if (root === undefined || isAlive(root) !== true) return () => false;
  const isGone = (): boolean => isAlive(root) === false;
  const timer = setInterval(() => {
    if (!isGone()) return;
    clearInterval(timer);
    process.once('exit', () => endAgent(env));
    end();
  }, POLL_MS);
  timer.unref();
  return isGone;
}

/** The agent is in the group of this process, and what it has started elsewhere has the folder of the same step. */
function endAgent({ UWF_STEP_DIR: stepDir }: Environment): void {
  const strays = stepDir ? findStrays(NO_LEADER, stepDir) : [];
  for (const { pid } of [{ pid: 0 }, ...strays]) sendSignal(pid, 'SIGTERM');
}
