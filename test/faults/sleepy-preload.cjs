// Makes a process look like one of another host, and puts it to sleep (SIGSTOP) before its first call that renames from or to
// a path which ends in UWF_SLEEP_AT. `node --require` loads it before the program.
'use strict';

const fs = require('node:fs');
const os = require('node:os');

const { UWF_SLEEP_AT: end } = process.env;
let isAwake = false;

os.hostname = () => 'elsewhere';
const { readFileSync, renameSync } = fs;
fs.readFileSync = (path, ...rest) =>
  path === '/proc/sys/kernel/random/boot_id' ? 'abababab-abab\n' : readFileSync(path, ...rest);
fs.renameSync = (from, to) => {
  if (!isAwake && end !== undefined && (from.endsWith(end) || to.endsWith(end))) {
    isAwake = true;
    process.kill(process.pid, 'SIGSTOP');
  }
  renameSync(from, to);
};
