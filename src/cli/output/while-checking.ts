import { formatCount } from '../../text/wording.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { collectOften } from '../process/save-memory.ts';
import { ProgressLine } from './progress-line.ts';

/** From so many commits on a check takes long. A shorter one would lose what V8 has compiled before, and save nothing. */
const MANY_COMMITS = 500;

/** Lets a command check threads; at a terminal it is shown how far that has come. @param check calls `onCommit` for each commit */
export async function whileChecking<T>(cli: CliEnvironment, check: (onCommit: () => void) => Promise<T>): Promise<T> {
  const progress = cli.stderr.isTTY === true ? new ProgressLine(cli.stderr) : undefined;
  let checked = 0;
  try {
    return await check(() => {
      checked += 1;
      if (checked === MANY_COMMITS) collectOften();
      progress?.count((count) => `checked ${formatCount(count)} commits`);
    });
  } finally {
    progress?.clear();
  }
}
