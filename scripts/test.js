#!/usr/bin/env node
// `npm test`: needs Node and git, nothing else. Arguments go to vitest: `npm test -- test/git`.
import { runTests } from './run-tests.js';

process.exitCode = await runTests('vitest.config.ts');
