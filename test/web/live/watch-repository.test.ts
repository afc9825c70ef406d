import { rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchRepository } from '../../../src/web/live/live.ts';
import { createLoopRepository } from '../../helpers/cli.ts';

test('a folder that cannot be looked at ends nothing, and changes in others are told', async () => {
  const cli = createLoopRepository();
  const repository = await cli.open();
  onTestFinished(() => repository.close());
  const { commonDir } = repository.location!;
  const folder = join(commonDir, 'refs/history');
  rmSync(folder, { recursive: true, force: true });
  // A link that leads to itself is what root cannot look at either.
  symlinkSync(folder, folder);
  let changes = 0;
  const watcher = watchRepository(repository, () => (changes += 1));
  onTestFinished(() => watcher.close());
  await cli.json(['thread', 'start', 'loop', '-p', 'Write']).catch(() => {});
  await vi.waitFor(() => expect(changes).toBeGreaterThan(0), { timeout: 60_000 });
});
