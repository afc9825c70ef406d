import type { ThreadOver } from '../../engine/events.ts';

const overs: ReadonlySet<string> = new Set(['thread.ended', 'thread.failed', 'thread.cancelled', 'thread.suspended']);

/** Tells whether a run of a thread ends with an event. */
export function isEndOfRun(event: { event: string }): event is ThreadOver {
  return overs.has(event.event);
}
