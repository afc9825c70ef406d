import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { serveHealth, WorkerMonitor } from '../../src/worker/health.ts';
import { Bell } from '../../src/worker/worker.ts';

const info = { version: '1.2.3', worker: 'a "box"\n\\', remote: 'origin' };
const thread = parseThreadId('01KAM400000000000000000000');

async function serve(maxUnseenMs: number): Promise<{ url: string; monitor: WorkerMonitor; bell: Bell }> {
  const [monitor, bell] = [new WorkerMonitor(), new Bell()];
  const server = await serveHealth(
    { host: '127.0.0.1', port: 0 },
    { monitor, ring: () => bell.ring(), info, maxUnseenMs },
  );
  onTestFinished(() => server.close());
  return { url: `http://127.0.0.1:${server.port}`, monitor, bell };
}

test('a worker is healthy as long as looks at the remote succeed', async () => {
  const { url } = await serve(60_000);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const silent = await serve(-1);
  const response = await fetch(`${silent.url}/healthz`);
  expect(response.status).toBe(503);
  expect(await response.text()).toContain('no look at origin has succeeded');
});

test('a connection that cannot be taken does not end the worker', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen');
  onTestFinished(() => listen.mockRestore());
  const { url } = await serve(60_000);
  const [server] = listen.mock.contexts as [Server];
  server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE', syscall: 'accept' }));
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('a hint ends the wait for the next look, and does not come from a browser', async () => {
  const { url, bell } = await serve(60_000);
  const waited = bell.wait(3_600_000, new AbortController().signal);
  const fromPage = await fetch(`${url}/hint`, { method: 'POST', headers: { Origin: 'https://example.com' } });
  expect(fromPage.status).toBe(403);
  expect((await fetch(`${url}/hint`)).status).toBe(405);
  expect((await fetch(`${url}/hint`, { method: 'POST' })).status).toBe(202);
  await waited;
});

test('a hint during a look ends the wait after it, and no other', async () => {
  const bell = new Bell();
  bell.ring();
  const { signal } = new AbortController();
  await bell.wait(3_600_000, signal);
  const next = bell.wait(3_600_000, AbortSignal.any([signal, AbortSignal.timeout(600)])).then(() => 'over');
  expect(await Promise.race([next, sleep(400, 'waiting')])).toBe('waiting');
  await next;
});

test('a wait of a month is no wait of a moment', async () => {
  const stop = new AbortController();
  const waited = new Bell().wait(30 * 86_400_000, stop.signal).then(() => 'over');
  expect(await Promise.race([waited, sleep(600, 'waiting')])).toBe('waiting');
  stop.abort();
  await waited;
});

test('metrics are in the text format of OpenMetrics, with all labels escaped', async () => {
  const { url, monitor } = await serve(60_000);
  monitor.looked(1_500);
  monitor.atWork += 2;
  monitor.tell({ event: 'step.started', thread, role: 'w', agent: 'a', number: 1, visit: 1 });
  monitor.ended('again', true);
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toContain('application/openmetrics-text; version=1.0.0');
  const text = await response.text();
  expect(text).toContain('uwf_worker_info{version="1.2.3",worker="a \\"box\\"\\n\\\\",remote="origin"} 1\n');
  for (const line of [
    'uwf_worker_turns_total 1',
    'uwf_worker_jobs_total{verdict="again"} 1',
    'uwf_worker_lost_total 1',
    'uwf_worker_look_seconds_count 1',
    'uwf_worker_look_seconds_sum 1.5',
    'uwf_worker_at_work 1',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text.endsWith('# EOF\n')).toBe(true);
  const families = text.match(/^# TYPE \S+/gmu) ?? [];
  expect(new Set(families).size).toBe(families.length);
});
