#!/usr/bin/env node
// `npm run pictures`: takes the pictures of docs/pictures anew, of a run in a browser. Needs a `chromium` on PATH.
import { runTests } from './run-tests.js';

process.env.SUITE_WRITE_PICTURES = '1';
process.argv.push('test/web/browser/pictures.long.test.ts');
process.exitCode = await runTests('vitest.long.config.ts');
