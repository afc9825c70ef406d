import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { root, testDocument } from './live-document.ts';

testDocument('docs/writing-an-agent.md', (folder) => {
  // As `npm install --save-dev uwf vitest` in the package's folder would have it.
  const installed = path.join(folder, 'agents/words/node_modules');
  mkdirSync(path.join(installed, '.bin'), { recursive: true });
  symlinkSync(root, path.join(installed, 'uwf'));
  symlinkSync(path.join(root, 'node_modules/vitest'), path.join(installed, 'vitest'));
  symlinkSync(path.join(root, 'node_modules/vitest/vitest.mjs'), path.join(installed, '.bin/vitest'));
});
