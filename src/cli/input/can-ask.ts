import type { CliContext } from '../context.ts';

/** Whether a person can be asked: both ends of the conversation are a terminal. */
export function canAsk(cli: Pick<CliContext, 'stdin' | 'stderr'>): boolean {
  return cli.stdin.isTTY === true && cli.stderr.isTTY === true;
}
