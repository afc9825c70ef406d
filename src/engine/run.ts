import type { LeaseOptions } from './context.ts';

export type RunOptions = LeaseOptions & {
  /** Stop after this many steps, leaving the thread idle. */
  maxSteps?: number;
};
