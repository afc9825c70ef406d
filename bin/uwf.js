#!/usr/bin/env node
// CommonJS on purpose: Node starts an ES module a fifth slower, and this is the first thing every command pays for.
'use strict';

/** The exit code of a mistake in uwf itself (`EX_SOFTWARE`, sysexits.h). */
const bug = 70;

const argv = process.argv.slice(2);
const dist = require('node:path').join(__dirname, '..', 'dist');
const loader = require('./program-loader.js').createLoader(dist, argv, process.env);

/** The program, or undefined where it was not built. */
function load() {
  try {
    return loader.load('cli.cjs');
  } catch (error) {
    if (error.code !== 'ENOENT' || require('node:fs').existsSync(`${dist}/cli.cjs`)) throw error;
    return undefined;
  }
}

process.on('uncaughtException', (error) => {
  // A reader that has seen enough (`uwf log | head -1`) ends the command, and that is no error. Commands at work listen
  // for it themselves, to end their agents first.
  if (error?.code === 'EPIPE' && process.stdout.listenerCount('error') === 0) process.exit();
  process.stderr.write(`uwf: this is a bug in uwf\n${error?.stack ?? error}\n`);
  process.exit(bug);
});

const program = load();
if (program === undefined) {
  process.stderr.write("uwf: it has not been built yet; run 'npm run build' in its folder\n");
  process.exitCode = bug;
} else {
  void program.main(argv).then((code) => {
    process.exitCode = code;
    loader.keep(program.commandNameOf(argv));
    // Node takes a millisecond or two to tidy up what the end of the process tidies up as well.
    if (program.isAllWritten()) process.exit();
  });
}
