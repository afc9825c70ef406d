import type { CliContext } from '../context.ts';

/** Whether a person can be asked: both ends of the conversation are a terminal. */
export function canAsk(cli: Pick<CliContext, 'stdin' | 'stderr'>): boolean {
  // Node takes some milliseconds to open its stdin, and where nobody reads there is nobody to ask.
  return cli.stderr.isTTY === true && cli.stdin.isTTY === true;
}
