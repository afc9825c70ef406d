import { expect, test, vi } from 'vitest';
import { whileChecking } from '../../../src/cli/output/progress-line.ts';
import { createCliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { collectOften } from '../../../src/cli/process/save-memory.ts';

// In this process they would stay changed for other tests.
vi.mock('../../../src/cli/process/save-memory.ts', () => ({ collectOften: vi.fn() }));

function check(commits: number, isTTY: boolean): Promise<string> {
  let written = '';
  const stderr = { isTTY, columns: 80, write: (text: string) => void (written += text) };
  const cli = createCliEnvironment({ stderr });
  return whileChecking(cli, (onCommit) => {
    for (let number = 0; number < commits; number += 1) onCommit();
    return Promise.resolve();
  }).then(() => written);
}

test('a long check tells at a terminal, and only there, how far it has come', async () => {
  let nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 60));
  expect(await check(1000, true)).toMatch(/checked 1,000 commits|checked \d+ commits.*\r\u001B\[K$/s);
  expect(await check(1000, false)).toBe('');
  clock.mockRestore();
});

test('a long check has V8 collect more often, a short one does not', async () => {
  vi.mocked(collectOften).mockClear();
  await check(499, false);
  expect(collectOften).not.toHaveBeenCalled();
  await check(5000, false);
  expect(collectOften).toHaveBeenCalledOnce();
});
