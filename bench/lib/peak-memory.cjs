// Loaded ahead of a program: says at its end how much memory it held at most. The high water mark of /proc is that of this
// program alone; `ru_maxrss` counts in what the process was forked from.
'use strict';

const { readFileSync, writeSync } = require('node:fs');

process.on('exit', () => {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  writeSync(2, `\nVmHWM kB ${kilobytes}\n`);
});
