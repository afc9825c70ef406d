#!/usr/bin/env node
// CommonJS on purpose: Node starts an ES module a fifth slower, and this is the first thing every command pays for.
'use strict';

/** The exit code of a mistake in uwf itself (`EX_SOFTWARE`, sysexits.h). */
const bug = 70;

/** The program, or undefined (said on stderr) where it was not built. */
function load() {
  try {
    return require('../dist/cli.cjs');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND' || require('node:fs').existsSync(`${__dirname}/../dist/cli.cjs`)) throw error;
    process.stderr.write("uwf: it has not been built yet; run 'npm run build' in its folder\n");
    return undefined;
  }
}

// A reader that has seen enough (`uwf log | head -1`) ends the command, and that is no error.
process.stdout.on('error', (error) => {
  if (error.code === 'EPIPE') process.exit();
  throw error;
});

const program = load();
if (program === undefined) {
  process.exitCode = bug;
} else {
  program.main(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code;
    },
    (error) => {
      process.stderr.write(`uwf: this is a bug in uwf\n${error?.stack ?? error}\n`);
      process.exitCode = bug;
    },
  );
}
