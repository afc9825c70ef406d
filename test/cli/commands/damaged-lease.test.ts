import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { leasePath } from '../../../src/engine/leases/find-lease.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { createLoopRepository } from '../../helpers/cli.ts';

test('a thread whose lease is damaged is shown, as are all others, and nothing works on it', async () => {
  const cli = createLoopRepository();
  const start = async (): Promise<string> => await cli.start('loop', 'Write');
  const [damaged, sound] = [await start(), await start()];
  const repository = await cli.open();
  const file = leasePath(String(repository.stateDir), parseThreadId(damaged));
  await repository.close();
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '{"tok');
  const list = (await cli.json(['thread', 'list'])) as { thread: string; status: string }[];
  expect(Object.fromEntries(list.map(({ thread, status }) => [thread, status]))).toEqual({
    [damaged]: 'running',
    [sound]: 'idle',
  });
  expect(await cli.json(['thread', 'show', damaged])).toMatchObject({ status: 'running', holder: null });
  expect(await cli.uwf(['thread', 'read', damaged])).toMatchObject({ code: 0 });
  const refused = await cli.uwf(['thread', 'run', damaged]);
  expect(refused.stderr).toContain('is damaged');
  expect(refused.code).not.toBe(0);
});
