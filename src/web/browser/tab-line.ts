import { LiveStream, type TabEvent, type TabView } from './live-stream.ts';

/** What a tab says to the stream that it shares with the other tabs. */
export type TabMessage = { shown: TabView } | { leaves: true };

/** How a tab says what it shows. */
export type TabLine = { show(shown: TabView): void; leave(): void };

/** What tabs say to each other where there is no shared worker. */
type ChannelMessage = (TabMessage & { from: string }) | { to: string; event: TabEvent } | { leads: true };

/**
 * Connects a tab to the one stream of this browser: over a shared worker, or, where there is none, over the tab that leads.
 * Browsers have few connections for each server.
 */
export function openTabLine(hear: (event: TabEvent) => void): TabLine {
  if (typeof SharedWorker === 'function') return overWorker(hear);
  // Browsers have locks only on this machine and over TLS.
  if ('locks' in navigator && typeof BroadcastChannel === 'function') return overLeader(hear);
  const [stream, tab] = [new LiveStream(), {}];
  return { show: (shown) => stream.show(tab, shown, hear), leave: () => stream.leave(tab) };
}

function overWorker(hear: (event: TabEvent) => void): TabLine {
  const { port } = new SharedWorker('/assets/stream-worker.js', { name: 'uwf' });
  port.addEventListener('message', ({ data }: MessageEvent<TabEvent>) => hear(data));
  port.start();
  const say = (message: TabMessage): void => port.postMessage(message);
  return { show: (shown) => say({ shown }), leave: () => say({ leaves: true }) };
}

/** The tab that holds the lock has the stream. When it closes, the browser gives the lock to another one. */
function overLeader(hear: (event: TabEvent) => void): TabLine {
  const own = crypto.randomUUID();
  const channel = new BroadcastChannel('uwf');
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel has no target.
  const say = (message: ChannelMessage): void => channel.postMessage(message);
  let stream: LiveStream | undefined;
  let shownLast: TabView | undefined;
  const show = (): void => {
    if (shownLast === undefined) return;
    if (stream) stream.show(own, shownLast, hear);
    else say({ from: own, shown: shownLast });
  };
  channel.addEventListener('message', ({ data }: MessageEvent<ChannelMessage>) => {
    if ('leads' in data) show();
    else if ('to' in data) {
      if (data.to === own) hear(data.event);
    } else if ('leaves' in data) stream?.leave(data.from);
    else stream?.show(data.from, data.shown, (event) => say({ to: data.from, event }));
  });
  const lead = (): Promise<never> => {
    stream = new LiveStream();
    say({ leads: true });
    show();
    // Until the tab is closed.
    return new Promise(() => {});
  };
  void navigator.locks.request('uwf', lead);
  return {
    show(shown) {
      shownLast = shown;
      show();
    },
    leave() {
      if (stream) stream.leave(own);
      else say({ from: own, leaves: true });
    },
  };
}
