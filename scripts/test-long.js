#!/usr/bin/env node
// `npm run test:long`: the long tests, minutes each. Arguments go to vitest, as for `npm test`.
import { runTests } from './run-tests.js';

process.exitCode = await runTests('vitest.long.config.ts');
