import { runProgram } from '../../agent/processes/run-program.ts';
import { UwfError } from '../../errors.ts';
import type { GitPlace } from '../../git/process/run-git.ts';
import { withoutPlaces } from '../../git/repository/git-directory.ts';
import { missingFiles } from '../../git/worktree/file-notes.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { admitSetup } from '../agents/admission.ts';
import type { EngineContext } from '../engine-context.ts';
import type { Lease } from '../leases/lease.ts';
import { copyIncluded } from './copy-included.ts';

const MAX_SETUP_BYTES = 1024 * 1024;
const SETUP_GRACE_MS = 5_000;

/**
 * Makes a new work tree fit to work in: copies the ignored files that `.worktreeinclude` of the main work tree names, and runs
 * the program that `isolation.setup` of the configuration names.
 *
 * A file that the new work tree would record is not copied. One that cannot be copied is told.
 * @param lease notes that program's process group, so that the next holder can end it
 * @param signal ends that program
 * @throws {UwfError} `set-up-failed` if that program fails
 * @throws the signal's reason when that is aborted
 */
export async function equipWorkTree(
  engine: EngineContext,
  lease: Pick<Lease, 'setProcessGroup'>,
  git: GitPlace,
  thread: ThreadId,
  signal: AbortSignal,
): Promise<void> {
  const top = git.location.workTree;
  if (top === undefined) return;
  const missing = missingFiles(await copyIncluded(git, top));
  if (missing !== undefined) engine.tell({ event: 'work-tree.incomplete', thread, missing });
  const setup = await admitSetup(engine, top);
  if (setup !== undefined) await runSetup(engine, lease, setup, top, signal);
}

async function runSetup(
  { env }: EngineContext,
  lease: Pick<Lease, 'setProcessGroup'>,
  argv: readonly [string, ...string[]],
  cwd: string,
  signal: AbortSignal,
): Promise<void> {
  const unnoted = new AbortController();
  const { exit, errorTail, isCut } = await runProgram({
    argv,
    cwd,
    env: withoutPlaces(env),
    input: '',
    maxOutputBytes: MAX_SETUP_BYTES,
    graceMs: SETUP_GRACE_MS,
    signal: AbortSignal.any([signal, unnoted.signal]),
    onStart(pgid) {
      try {
        lease.setProcessGroup(pgid);
      } catch (error) {
        unnoted.abort(error);
      }
    },
    onOutput: () => {},
    onAside: () => {},
  });
  if (exit === 0 && !isCut) return;
  const said = errorTail.trim();
  const how = isCut ? `it wrote more than ${MAX_SETUP_BYTES} bytes and was ended` : exit;
  throw new UwfError(`'${argv.join(' ')}' failed in the new work tree (${how})${said === '' ? '' : `: ${said}`}`, {
    code: 'set-up-failed',
    kind: 'environment',
    hint: 'isolation.setup of the configuration names it; mend it, and run the thread again',
  });
}
