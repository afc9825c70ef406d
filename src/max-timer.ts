/** 24 days. Node lets a timer that is to run for longer run out at once. Source: its documentation of `setTimeout`. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;
