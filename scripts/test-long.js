#!/usr/bin/env node
// `npm run test:long`: the campaigns, which take minutes each. Arguments go to vitest, as those of `npm test` do.
import { runTests } from './run-tests.js';

process.exitCode = await runTests('vitest.long.config.ts');
