import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { pidNamespace, runContained } from '../../../src/agent/processes/run-program.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';

const namespace = await pidNamespace();
const isLinux = process.platform === 'linux';
const ways: [string, readonly string[]][] = [
  ['by the marks of processes', []],
  ...(namespace.length > 0 ? ([['in a pid namespace', namespace]] as [string, readonly string[]][]) : []),
];

let sleeps = 0;

async function run(
  script: string,
  words: readonly string[],
  { signal = new AbortController().signal, cwd = temporaryFolder() } = {},
): Promise<{ output: string; exit: unknown }> {
  return runContained(
    {
      argv: ['/bin/sh', '-c', script],
      cwd,
      env: { PATH: process.env['PATH'] ?? '', HARMLESS: 'seen' },
      input: '',
      maxOutputBytes: 1_000_000,
      graceMs: 500,
      signal,
      onStart: () => {},
      onOutput: () => {},
      onAside: () => {},
    },
    words,
  );
}

/** The processes of this machine that sleep for so long. */
function sleeping(seconds: number): string[] {
  const lines = readdirSync('/proc').map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    } catch {
      return '';
    }
  });
  return lines.filter((line) => line === `sleep\0${seconds}\0`);
}

describe.runIf(isLinux).each(ways)('%s', (_, words) => {
  const sleeper = 'touch started; exec sleep SECONDS';

  test.each([
    ['of its own session', `setsid sh -c '${sleeper}' &`],
    ['without its environment', `setsid env -i /bin/sh -c '${sleeper}' &`],
    ['whose parents have ended', `(setsid env -i /bin/sh -c '(${sleeper}) & exit' &)`],
    ['that ignores signals', `(setsid env -i /bin/sh -c 'trap "" TERM HUP; (${sleeper}) & exit' &)`],
  ])('a process %s has ended with the command', async (_what, start) => {
    const seconds = 98_000_000 + process.pid + (sleeps += 1);
    const script = `${start.replaceAll('SECONDS', String(seconds))}\nwhile ! [ -e started ]; do sleep 0.01; done; echo there`;
    expect((await run(script, words)).output).toBe('there\n');
    expect(sleeping(seconds)).toEqual([]);
  });

  test('nor does it outlive a command that is ended', async () => {
    const seconds = 98_000_000 + process.pid + (sleeps += 1);
    const clock = new AbortController();
    const cwd = temporaryFolder();
    const running = run(`(setsid env -i sleep ${seconds} &); sleep 60`, words, { signal: clock.signal, cwd });
    await expect.poll(() => sleeping(seconds).length).toBe(1);
    clock.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    expect(sleeping(seconds)).toEqual([]);
  });

  test('tells its exit, its output and its environment as it is', async () => {
    expect(await run('echo "$HARMLESS"; exit 3', words)).toMatchObject({
      output: 'seen\n',
      exit: 3,
    });
    expect((await run('id -u; pwd -P > /dev/null && echo "$0"', words)).output).toBe(
      `${process.getuid?.()}\n/bin/sh\n`,
    );
  });
});

test.runIf(namespace.length > 0)('in a pid namespace no other process is seen, nor its environment', async () => {
  const { output } = await run('cat /proc/[0-9]*/environ | tr "\\0" "\\n" | base64 -w0', namespace);
  const seen = Buffer.from(output, 'base64').toString();
  expect(seen).toContain('HARMLESS=seen');
  expect(seen).not.toContain('VITEST');
  expect(process.env['VITEST']).toBeDefined();
});
