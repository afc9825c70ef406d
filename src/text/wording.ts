// The room text: times, counts, names and words come in, and go out as people read them, or as a shell does. Nothing here reads more
// than its arguments, and nothing fails.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `0.3 s`, `42 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`: how long something took, in ms. */
export function formatDuration(durationMs: number): string {
  const ms = Math.max(durationMs, 0);
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return join([Math.floor(seconds / 60), 'min'], [seconds % 60, 's']);
  const minutes = Math.round(seconds / 60);
  if (minutes < 24 * 60) return join([Math.floor(minutes / 60), 'h'], [minutes % 60, 'min']);
  const hours = Math.round(minutes / 60);
  return join([Math.floor(hours / 24), 'd'], [hours % 24, 'h']);
}

function join(large: [number, string], small: [number, string]): string {
  return [large, ...(small[0] === 0 ? [] : [small])].map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** `just now`, `5 minutes ago`, `yesterday` …: when something was, seen from now, both in ms since 1970. */
export function formatAgo(timeMs: number, nowMs: number): string {
  const ms = nowMs - timeMs;
  if (ms < MINUTE) return 'just now';
  if (ms < HOUR) return `${plural(Math.floor(ms / MINUTE), 'minute')} ago`;
  if (ms < DAY) return `${plural(Math.floor(ms / HOUR), 'hour')} ago`;
  if (ms < 2 * DAY) return 'yesterday';
  if (ms < 14 * DAY) return `${plural(Math.floor(ms / DAY), 'day')} ago`;
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** `2026-11-21 12:00:00 UTC`: a moment, in ms since 1970. */
export function formatTime(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** `12,345`. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 step`, `1,200 steps`. */
export function plural(count: number, unit: string): string {
  return `${formatCount(count)} ${unit}${count === 1 ? '' : 's'}`;
}

/** Writes a word as one says it: `a role`, `an agent`. */
export function withArticle(word: string): string {
  return `${/^(?:[aeio]|u(?!ri|rl|ni|se))/i.test(word) ? 'an' : 'a'} ${word}`;
}

/** A text in single quotes, as a POSIX shell reads it. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Not `\p{Surrogate}`: V8 takes a millisecond to compile that, in every command. */
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** Tells whether a text is well-formed Unicode: in UTF-16 no half of a surrogate pair stands alone. */
export function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text);
}
