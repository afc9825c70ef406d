/**
 * How long a server asks to be left alone, in milliseconds from now; `undefined` where it says nothing that can be read.
 *
 * `retry-after-ms` is the more exact form of some servers; `Retry-After` is seconds or a date.
 * @see RFC 9110 §10.2.3
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const exact = readNumber(headers['retry-after-ms']);
  if (exact !== undefined) return exact;
  const text = headers['retry-after']?.trim();
  if (text === undefined || text === '') return undefined;
  const seconds = readNumber(text);
  if (seconds !== undefined) return seconds * 1000;
  const dateMs = Date.parse(text);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

/** The point in time some ms after another, in whole ms since 1970; `undefined` where there is no such date. */
export function timeAfter(nowMs: number, ms: number): number | undefined {
  const time = Math.ceil(nowMs + ms);
  return Number.isNaN(new Date(time).getTime()) ? undefined : time;
}

function readNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+(?:\.\d+)?$/u.test(text.trim()) ? Number(text) : undefined;
}
