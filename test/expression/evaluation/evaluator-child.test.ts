import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { buildSync } from 'esbuild';
import { afterEach, expect, test, vi } from 'vitest';

import { EvaluatorChild } from '../../../src/expression/evaluation/evaluator-child.ts';
import type { EvaluationTask } from '../../../src/expression/evaluation/evaluate-here.ts';
import { ExpressionTimeout } from '../../../src/expression/expression-errors.ts';
import type { Scope } from '../../../src/expression/evaluation/scope.ts';
import { packageRoot } from '../../../src/git/system/process-identity.ts';

const BACKTRACKING = '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", /(a+)+$/)';

const child = new EvaluatorChild();
afterEach(() => child.close());

function task(source: string, timeoutMs = 1000): EvaluationTask {
  return { source, timeoutMs, wanted: 'value', mayVary: false };
}

function scopeOf(n: number): Scope {
  return { input: { n }, bindings: {} };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('one process evaluates one task after another, each over its own scope', async () => {
  const scopes = [scopeOf(1), scopeOf(2), scopeOf(1)];
  const values = await Promise.all(scopes.map((scope) => child.evaluate(task('n * 10'), scope)));
  expect(values).toEqual([10, 20, 10]);
  const { pid } = child;
  expect(await child.evaluate(task('n'), scopeOf(7))).toBe(7);
  expect(child.pid).toBe(pid);
});

test('a child that is killed while it writes its answer fails its own task only', async () => {
  const scope = scopeOf(1);
  await child.evaluate(task('n'), scope);
  // While this process reads nothing, the child writes until the pipe is full.
  setImmediate(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500);
    process.kill(Number(child.pid), 'SIGKILL');
  });
  await expect(child.evaluate(task("$pad('x', 5000000)", 5000), scope)).rejects.toMatchObject({
    code: 'evaluator-unavailable',
  });
  expect(await child.evaluate(task('n'), scope)).toBe(1);
});

test('a task that is killed takes no other task with it', async () => {
  const scope = scopeOf(1);
  const [killed, next] = await Promise.allSettled([
    child.evaluate(task(BACKTRACKING, 100), scope),
    child.evaluate(task('n'), scope),
  ]);
  expect(killed).toMatchObject({ status: 'rejected', reason: { code: 'expression-timeout' } });
  expect(next).toEqual({ status: 'fulfilled', value: 1 });
});

test('what is killed is dead, and another process takes its place', async () => {
  await child.evaluate(task('1'), scopeOf(1));
  const { pid } = child;
  await expect(child.evaluate(task(BACKTRACKING, 100), scopeOf(1))).rejects.toThrow('did not end within 100 ms');
  await expect.poll(() => isAlive(pid ?? 0)).toBe(false);
  expect(await child.evaluate(task('1'), scopeOf(1))).toBe(1);
  expect(child.pid).not.toBe(pid);
});

const isLinux = process.platform === 'linux';

const isLimited = isLinux && Number.parseInt(process.versions.node, 10) <= 22;

test.runIf(isLimited)('what takes all memory at once gets no more than a little beyond its heap', async () => {
  await child.evaluate(task('n', 10_000), scopeOf(1));
  const { pid } = child;
  // It may be over before the first look.
  let most = dataMbOf(pid);
  const watch = setInterval(() => (most = Math.max(most, dataMbOf(pid))), 5);
  // Its texts and lists are larger, each of them, than the whole heap.
  const greedy = child.evaluate(task('$length($pad("", 200000000, "xy"))', 10_000), scopeOf(1));
  await expect(greedy).rejects.toMatchObject({ reason: expect.stringContaining('MB of memory') });
  clearInterval(watch);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(200);
});

test.runIf(isLinux)('whoever gives threads a large stack gets an answer, too', async () => {
  const answer = await inAnotherProcess(['/bin/sh', '-c', 'ulimit -S -s 1000000; exec "$@"', 'sh'], '');
  expect(answer).toMatch(/^42 \d+$/m);
});

function dataMbOf(pid: number | undefined): number {
  try {
    return Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

test('a child that somebody else ends is the machine’s fault, and is replaced', async () => {
  await child.evaluate(task('1'), scopeOf(1));
  const evaluation = child.evaluate(task(BACKTRACKING, 5000), scopeOf(1));
  setTimeout(() => process.kill(child.pid ?? 0, 'SIGTERM'), 100);
  await expect(evaluation).rejects.toMatchObject({ code: 'evaluator-unavailable', kind: 'environment' });
  expect(await child.evaluate(task('1'), scopeOf(1))).toBe(1);
});

test('a child that died between two tasks is replaced unseen', async () => {
  await child.evaluate(task('1'), scopeOf(1));
  const pid = child.pid ?? 0;
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => child.pid).toBeUndefined();
  expect(await child.evaluate(task('1'), scopeOf(1))).toBe(1);
});

test('nothing of the environment reaches the child, the time zone least of all', async () => {
  vi.stubEnv('TZ', 'America/New_York');
  vi.stubEnv('NODE_OPTIONS', '--no-such-option');
  try {
    expect(await child.evaluate(task('$toMillis("2026-01-01T00:00:00")'), scopeOf(1))).toBe(1_767_225_600_000);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('texts of any content and size travel whole', async () => {
  const text = `${'\u2028\r\n\0"ü🙂'.repeat(50_000)}\ud800`;
  expect(await child.evaluate(task('text'), { input: { text }, bindings: {} })).toBe(text);
});

test.runIf(isLinux)(
  'a child whose parent is gone ends by itself, even in the middle of a pattern',
  async () => {
    const output = await inAnotherProcess(
      [],
      `const { pid } = sharedEvaluator();
     sharedEvaluator().close();
     const busy = { source: ${JSON.stringify(BACKTRACKING)}, timeoutMs: 100, wanted: 'value', mayVary: false };
     void sharedEvaluator().evaluate(busy, { input: {}, bindings: {} });
     while (sharedEvaluator().pid === undefined || sharedEvaluator().pid === pid) await new Promise((done) => setTimeout(done, 5));
     console.log('busy', sharedEvaluator().pid);
     process.kill(process.pid, 'SIGKILL');`,
      [null, 'SIGKILL'],
    );
    const pid = Number(/^busy (\d+)$/m.exec(output)?.[1]);
    expect(pid).toBeGreaterThan(0);
    await expect.poll(() => isAlive(pid), { timeout: 60_000 }).toBe(false);
  },
  70_000,
);

test('a child that has had its time is replaced before its limit ends it', async () => {
  const busy = '$count($map([1..12000], function($n){ $n * $n })) > 0';
  const pids = new Set<number | undefined>();
  for (let round = 0; round < 1000 && pids.size < 2; round += 1) {
    try {
      expect(await child.evaluate(task(busy, 500), scopeOf(1))).toBe(true);
      pids.add(child.pid);
    } catch (error) {
      // On a busy machine 500 ms can pass before it is done. Its child is killed then, which is not what is looked for.
      if (!(error instanceof ExpressionTimeout)) throw error;
      pids.clear();
    }
  }
  expect(pids.size).toBe(2);
});

const hasPermissions = process.allowedNodeEnvironmentFlags.has('--experimental-permission');

test.runIf(isLinux && hasPermissions)('a child may read its own program, and that is all', async () => {
  await child.evaluate(task('n'), scopeOf(1));
  const words = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')
    .split('\0')
    .filter((word) => word !== '');
  const program = words.pop() ?? '';
  const attempt = (code: string): string => {
    // The same process, but for what it runs.
    const source = join(mkdtempSync(join(packageRoot(), 'node_modules', '.uwf-test-')), 'attempt.cjs');
    try {
      writeFileSync(source, code);
      const given = [...words.slice(1).map((word) => word.replace(program, source)), source];
      return spawnSync(words[0] ?? '', given, { encoding: 'utf8' }).stdout.trim();
    } finally {
      rmSync(dirname(source), { recursive: true });
    }
  };
  const tried = (code: string): string =>
    attempt(`try { ${code}; console.log('done') } catch (e) { console.log(e.code) }`);
  expect(tried('1')).toBe('done');
  for (const code of [
    "require('node:fs').readFileSync('/etc/hostname')",
    `require('node:fs').readFileSync(${JSON.stringify(join(packageRoot(), 'package.json'))})`,
    "require('node:fs').writeFileSync('/tmp/uwf-made', '')",
    "require('node:child_process').execFileSync('true')",
    "new (require('node:worker_threads').Worker)('1', { eval: true })",
    "process.dlopen({ exports: {} }, '/nowhere.node')",
  ]) {
    expect(tried(code), code).toMatch(/^ERR_(?:ACCESS_DENIED|DLOPEN_DISABLED)$/u);
  }
});

test('an idle child does not keep its parent alive, and goes with it', async () => {
  const output = await inAnotherProcess(
    [],
    "process.on('exit', () => console.log('left with', sharedEvaluator().pid));",
  );
  const pid = /^42 (\d+)$/m.exec(output)?.[1];
  // Had the child held the parent, it would have gone first, when its idle time was over.
  expect(output).toBe(`42 ${pid}\nleft with ${pid}\n`);
  // Whoever inherits an orphan may take a moment to collect it.
  await expect.poll(() => isAlive(Number(pid)), { timeout: 20_000 }).toBe(false);
});

/** Has a process of its own evaluate something that is 42, and say by which child. @returns what it wrote */
async function inAnotherProcess(wrapper: string[], more: string, end: unknown = [0, null]): Promise<string> {
  const folder = mkdtempSync(join(packageRoot(), 'node_modules', '.uwf-test-'));
  try {
    const program = join(folder, 'parent.mjs');
    const module = (name: string): string =>
      JSON.stringify(join(packageRoot(), 'src', 'expression', 'evaluation', name));
    const contents = `
      import { evaluate } from ${module('evaluate.ts')};
      import { sharedEvaluator } from ${module('evaluator-child.ts')};
      console.log(await evaluate('$string(n)', { input: { n: 42 }, bindings: {} }), sharedEvaluator().pid);
      ${more}
    `;
    buildSync({
      stdin: { contents, resolveDir: folder, loader: 'ts' },
      outfile: program,
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['jsonata'],
    });
    const [command, ...args] = [...wrapper, process.execPath, program];
    const parent = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    parent.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    expect(await once(parent, 'close')).toEqual(end);
    return output;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
