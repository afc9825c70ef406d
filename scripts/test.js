#!/usr/bin/env node
// `npm test`: needs Node and git, nothing else. Arguments go to vitest: `npm test -- test/git`.
import path from 'node:path';
import { ensure, root, runInherited } from './ensure.js';

const isReady = await ensure();
process.exitCode = isReady
  ? runInherited(process.execPath, [path.join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...process.argv.slice(2)])
  : 1;
