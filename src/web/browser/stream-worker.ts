/// <reference lib="webworker" />
import { LiveStream, type TabEvent, type TabView } from './live-stream.ts';

/** What a tab says to the worker. Tabs say it again now and then: one that is silent has gone. */
type Message = { shown: TabView } | { leaves: true };

/** Browsers let a hidden tab run once a minute. */
const SILENT_TAB_MS = 150_000;

const stream = new LiveStream();
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The page starts this script as a shared worker.
const scope = self as unknown as SharedWorkerGlobalScope;

scope.addEventListener('connect', ({ ports: [port] }: MessageEvent) => {
  if (port === undefined) return;
  let gone: ReturnType<typeof setTimeout> | undefined;
  port.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    clearTimeout(gone);
    if ('leaves' in data) return stream.leave(port);
    stream.show(port, data.shown, (event: TabEvent) => port.postMessage(event));
    gone = setTimeout(() => stream.leave(port), SILENT_TAB_MS);
  });
  port.start();
});
