#!/usr/bin/env node
// `npm test`: needs only Node and git. Arguments go to vitest: `npm test -- test/git`.
import { runTests } from './run-tests.js';

process.exitCode = await runTests('vitest.config.ts');
