// Stands between uwf and the disk: `node --require` loads it before the program that is shipped.
//
// Counts the calls that change the disk, a write twice: before it and in the middle of it. From number UWF_FAULT_AT on
// every call that needs space fails with the error code in UWF_FAULT, as on a disk that is and stays full; or, with
// UWF_FAULT=kill, the process is killed at that very call. UWF_FAULT_COUNT names a file that the number of calls goes to.
'use strict';

const fs = require('node:fs');

const { UWF_FAULT: fault, UWF_FAULT_AT: at, UWF_FAULT_COUNT: countFile } = process.env;
for (const name of ['NODE_OPTIONS', 'UWF_FAULT', 'UWF_FAULT_AT', 'UWF_FAULT_COUNT']) delete process.env[name];

let calls = 0;

function beforeCall(name, needsSpace) {
  if (fault !== 'kill' && fault !== 'EROFS' && !needsSpace) return;
  calls += 1;
  if (at === undefined || calls < Number(at)) return;
  if (fault === 'kill') process.kill(process.pid, 'SIGKILL');
  throw Object.assign(new Error(`${fault}: injected, ${name}`), { code: fault, syscall: name });
}

/** Freeing space works on a full disk. */
const calling = { mkdirSync: true, mkdtempSync: true, linkSync: true, renameSync: true, fsyncSync: true };
const removing = { unlinkSync: false, rmSync: false, rmdirSync: false };

for (const [name, needsSpace] of Object.entries({ ...calling, ...removing })) {
  const original = fs[name];
  fs[name] = (...args) => {
    beforeCall(name, needsSpace);
    return original(...args);
  };
}

const { openSync, writeSync, writeFileSync } = fs;
const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC } = fs.constants;
const opensToWrite = (flags = 'r') =>
  typeof flags === 'number' ? (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) !== 0 : flags !== 'r';
fs.openSync = (path, flags, ...rest) => {
  if (opensToWrite(flags)) beforeCall('openSync', true);
  return openSync(path, flags, ...rest);
};
fs.writeSync = (descriptor, data, offset, ...rest) => {
  // What uwf says goes to whoever listens, not to the disk.
  if (descriptor <= 2) return writeSync(descriptor, data, offset, ...rest);
  const whole = typeof data === 'string' ? Buffer.from(data) : data.subarray(offset ?? 0);
  const half = whole.length >> 1;
  beforeCall('writeSync', true);
  writeSync(descriptor, whole.subarray(0, half));
  beforeCall('writeSync, half of it done', true);
  return half + writeSync(descriptor, whole.subarray(half));
};
fs.writeFileSync = (path, data, options) => {
  const whole = Buffer.from(data);
  beforeCall('writeFileSync', true);
  if (calls + 1 === Number(at)) writeFileSync(path, whole.subarray(0, whole.length >> 1), options);
  beforeCall('writeFileSync, half of it done', true);
  writeFileSync(path, whole, options);
};

if (countFile !== undefined) process.on('exit', () => writeFileSync(countFile, String(calls)));
