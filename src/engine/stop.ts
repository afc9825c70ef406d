/** What a stop found: nobody at work, or somebody who is now gone; `isKilled` if it had to be forced. */
export type StopOutcome = { wasRunning: boolean; isKilled: boolean };
