import { setTimeout as sleep } from 'node:timers/promises';
import { streamSSE } from 'hono/streaming';
import { shownIn, type Live } from '../live/live.ts';
import type { WebApp } from './web-app.ts';

const HEARTBEAT_MS = 15_000;
/** A browser has one stream, whatever tabs it has. */
const MAX_STREAMS = 100;
/** A browser that reads nothing is let go when so much waits for it. It comes back with what it shows. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024;

/**
 * The stream that tells a browser of changes.
 * @param closing ends all streams
 */
export function addLive(app: WebApp, live: Live, closing: AbortSignal): void {
  app.get('/live', (context) => {
    // No client reads the stream of such a request, so it would never end.
    if (context.req.method === 'HEAD') return context.body(null);
    if (live.streams >= MAX_STREAMS) return context.text('too many streams are open', 503);
    const shown = shownIn(new URL(context.req.url).searchParams);
    return streamSSE(context, async (stream) => {
      const ended = new AbortController();
      const signal = AbortSignal.any([ended.signal, closing]);
      stream.onAbort(() => ended.abort());
      let unreadBytes = 0;
      const send = (event: string, data: string): void => {
        unreadBytes += data.length;
        if (unreadBytes > MAX_UNREAD_BYTES) ended.abort();
        const written = stream.writeSSE({ event, data });
        void written.then(() => (unreadBytes -= data.length)).catch(() => ended.abort());
      };
      live.open(shown, (event) => send(event.event, JSON.stringify(event)), signal);
      while (!signal.aborted) {
        send('beat', '');
        // It ends early where the stream does, and leaves no listener behind: a page is open for days.
        await sleep(HEARTBEAT_MS, undefined, { signal }).catch(() => undefined);
      }
    });
  });
}
