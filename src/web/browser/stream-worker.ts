/// <reference lib="webworker" />
import { LiveStream, type TabEvent, type TabMessage } from './live-stream.ts';

const stream = new LiveStream();
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The page starts this script as a shared worker.
const scope = self as unknown as SharedWorkerGlobalScope;

scope.addEventListener('connect', ({ ports: [port] }: MessageEvent) => {
  if (port === undefined) return;
  port.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
    if ('leaves' in data) stream.leave(port);
    else stream.show(port, data.shown, (event: TabEvent) => port.postMessage(event));
  });
  port.start();
});
