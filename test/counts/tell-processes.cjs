// Loaded ahead of a program: has it say on stderr which other programs it starts.
'use strict';

const { ChildProcess } = require('node:child_process');
const childProcess = require('node:child_process');
const { writeSync } = require('node:fs');

const tell = (program) => writeSync(2, `\nstarted ${program}\n`);

// What all asynchronous ways come down to.
const { spawn } = ChildProcess.prototype;
ChildProcess.prototype.spawn = function (options) {
  tell(options.file);
  return spawn.call(this, options);
};

for (const name of ['spawnSync', 'execFileSync', 'execSync']) {
  const original = childProcess[name];
  childProcess[name] = (program, ...rest) => {
    tell(program);
    return original(program, ...rest);
  };
}
