import type { Html } from '../html.ts';
import { formatAgo, formatTime } from '../../format-time.ts';

/** A moment as its distance from now; the exact time shows on it. */
export function Ago({ at, nowMs }: { at: string; nowMs: number }): Html {
  const timeMs = Date.parse(at);
  return (
    <time datetime={at} title={formatTime(timeMs)}>
      {formatAgo(timeMs, nowMs)}
    </time>
  );
}
