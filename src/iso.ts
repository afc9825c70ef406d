/** A time in ms since 1970, as ISO 8601 in UTC. */
export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
