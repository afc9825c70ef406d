import type { CountedLimit } from '../schema/built-in/thread-resume.ts';

/** An option of `uwf thread resume` that raises a limit. */
export type LimitOption = 'steps' | 'visits' | 'turns' | 'tokens' | 'cost';

/** The limits that people raise when they resume a thread, with the option for each. */
export const limitOptions: readonly (readonly [CountedLimit, LimitOption])[] = [
  ['maxSteps', 'steps'],
  ['maxVisits', 'visits'],
  ['maxTurns', 'turns'],
  ['maxTokens', 'tokens'],
  ['maxCostUsd', 'cost'],
];
