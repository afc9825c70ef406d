import { expect, test } from 'vitest';
import { createCliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { jsonLog, textLog } from '../../../src/cli/worker/worker-log.ts';

test('no log of a worker passes on what steers a terminal', () => {
  let said = '';
  const stderr = { write: (text: string) => ((said += text), true) } as never;
  const cli = createCliEnvironment({ stderr });
  textLog(cli, {} as never).trouble('origin says \u001B]0;title\u0007no');
  jsonLog(cli, 'w').trouble('origin says \u001B[31mno');
  expect(said).toContain('uwf: origin says \uFFFD');
  expect(said).not.toMatch(/[\u001B\u0007]/);
});
