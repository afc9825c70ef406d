import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chain, config, createScene } from '../../faults/scene.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test('a turn is stored although git cannot look at the main work tree after it', async () => {
  const scene = createScene({
    '.uwf/workflows/w.yaml': `${chain('w', ['coder'])}\nisolation: worktree\n`,
    '.uwf/config.yaml': config(['./agent']),
    agent: `#!/bin/sh
git=$(git rev-parse --path-format=absolute --git-common-dir)
echo x >> "$git/runs"
echo damaged > "$git/index"
printf -- '---\\n$status: done\\n---\\nDone.\\n'
`,
  });
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'code');
  const env = { HOME: createTemporaryFolder(), XDG_STATE_HOME: createTemporaryFolder() };
  const outcome = await scene.uwf(['run', 'w', '-p', 'x'], { env });
  expect(outcome).toMatchObject({ code: 0, stderr: expect.stringContaining('has ended') });
  expect(readFileSync(join(scene.dir, '.git', 'runs'), 'utf8')).toBe('x\n');
});
