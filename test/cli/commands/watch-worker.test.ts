import { expect, test } from 'vitest';
import { createCliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { jsonLog, parseHealthAddress, textLog } from '../../../src/cli/commands/worker.ts';
import { startWorker } from '../../helpers/worker-process.ts';
import { createTeam } from '../../helpers/worker-team.ts';

test('a worker that waits for long looks at the remote at a hint and at SIGUSR1', async () => {
  const { laptop, box } = createTeam();
  const worker = startWorker(box.dir, ['--poll', '1h', '--health', '0', '--log', 'json', '--name', 'box-7']);
  await worker.says('"event":"worker.started"');
  const [, url = ''] = /"health":"([^"]+)"/.exec(worker.said()) ?? [];
  const isLooked = async (): Promise<boolean> =>
    /^uwf_worker_look_seconds_count 1$/mu.test(await (await fetch(`${url}/metrics`)).text());
  while (!(await isLooked())) await new Promise((resolve) => setTimeout(resolve, 50));
  const send = async (): Promise<string> =>
    (await laptop.uwf(['run', 'release', '-p', 'x', '--on', 'origin', '-b'])).stdout.trim();
  const first = await send();
  expect((await fetch(`${url}/hint`, { method: 'POST' })).status).toBe(202);
  await worker.says(`"event":"step.finished","worker":"box-7","thread":"${first}"`);
  const second = await send();
  process.kill(worker.pid, 'SIGUSR1');
  await worker.says(`"event":"step.finished","worker":"box-7","thread":"${second}"`);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  for (const line of worker.said().trimEnd().split('\n')) {
    expect(JSON.parse(line)).toMatchObject({ worker: 'box-7', time: expect.any(String), event: expect.any(String) });
  }
  await worker.stop('SIGKILL');
});

test('the health of a worker is served on the loopback interface unless an address is given', () => {
  expect(parseHealthAddress('9464')).toEqual({ host: '127.0.0.1', port: 9464 });
  expect(parseHealthAddress('0.0.0.0:9464')).toEqual({ host: '0.0.0.0', port: 9464 });
  expect(parseHealthAddress('[::1]:9464')).toEqual({ host: '::1', port: 9464 });
  for (const text of ['', 'x', '::1:9464', '127.0.0.1:', '70000', 'a:b:c']) {
    expect(() => parseHealthAddress(text), text).toThrow(/needs a port/u);
  }
});

test('no log of a worker passes on what steers a terminal', () => {
  let said = '';
  const stderr = { write: (text: string) => ((said += text), true) } as never;
  const cli = createCliEnvironment({ stderr });
  textLog(cli, {} as never).trouble('origin says \u001B]0;title\u0007no');
  jsonLog(cli, 'w').trouble('origin says \u001B[31mno');
  expect(said).toContain('uwf: origin says \uFFFD');
  expect(said).not.toMatch(/[\u001B\u0007]/);
});
