// Loaded before a program: reports its peak memory at its end. The high-water mark in /proc is that of this program alone;
// `ru_maxrss` includes the process that it was forked from.
'use strict';

const { readFileSync, writeSync } = require('node:fs');

process.on('exit', () => {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  writeSync(2, `\nVmHWM kB ${kilobytes}\n`);
});
