import { Server } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Bell } from '../../src/worker/bell.ts';
import { serveHealth } from '../../src/worker/health.ts';
import { formatMetrics, WorkerMonitor } from '../../src/worker/monitor.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';

const info = { version: '1.2.3', worker: 'a "box"\n\\', remote: 'origin' };
const thread = parseThreadId('01KAM400000000000000000000');

async function serve(maxUnseenMs: number): Promise<{ url: string; monitor: WorkerMonitor; bell: Bell }> {
  const [monitor, bell] = [new WorkerMonitor(), new Bell()];
  const server = await serveHealth({ host: '127.0.0.1', port: 0 }, { monitor, bell, info, maxUnseenMs });
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
  expect(await bell.wait(3_600_000, signal)).toBe(true);
  expect(await bell.wait(1, signal)).toBe(false);
});

test('metrics are in the text format of OpenMetrics, with all labels escaped', async () => {
  const { url, monitor } = await serve(60_000);
  const job = { remote: 'origin', thread, head: 'a'.repeat(40) as never, needs: [] };
  monitor.looked(1_500);
  monitor.began(job);
  monitor.tell({ event: 'step.started', thread, role: 'w', agent: 'a', number: 1, visit: 1 });
  monitor.ended(job, 'again', true);
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toContain('application/openmetrics-text; version=1.0.0');
  const text = await response.text();
  expect(text).toBe(formatMetrics(monitor, info));
  expect(text).toContain('uwf_worker_info{version="1.2.3",worker="a \\"box\\"\\n\\\\",remote="origin"} 1\n');
  for (const line of [
    'uwf_worker_turns_total 1',
    'uwf_worker_jobs_total{verdict="again"} 1',
    'uwf_worker_lost_total 1',
    'uwf_worker_look_seconds_count 1',
    'uwf_worker_look_seconds_sum 1.5',
    'uwf_worker_at_work 0',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
  expect(text.endsWith('# EOF\n')).toBe(true);
  const families = text.match(/^# TYPE \S+/gmu) ?? [];
  expect(new Set(families).size).toBe(families.length);
});
