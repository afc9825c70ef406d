'use strict';
const fs = require('node:fs');

/** What is older is worked out again by who still needs it: versions of uwf and Node come and go. */
const keptMs = 100 * 24 * 60 * 60 * 1000;

/**
 * Has V8 write down what it has compiled of a script, in the first of some folders that takes it.
 *
 * It is there as a whole or not at all: it is written under another name, synced, and renamed. It holds the code twice,
 * since V8 does not look for damage: who reads it compares the halves. One that is there already stays; those that are
 * 100 days old go.
 *
 * @param script a `vm.Script` whose functions were called
 */
exports.keepCode = function keepCode(folders, name, script) {
  for (const folder of folders) {
    const file = `${folder}/${name}`;
    if (fs.existsSync(file)) return;
    const temporary = `${file}.${process.pid}.tmp`;
    try {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
      const code = script.createCachedData();
      fs.writeFileSync(temporary, Buffer.concat([code, code]), { flag: 'wx', mode: 0o600, flush: true });
      fs.renameSync(temporary, file);
      removeOld(folder);
      return;
    } catch {
      // Read-only, or full: the next folder, or none.
      remove(temporary);
    }
  }
};

function removeOld(folder) {
  for (const name of fs.readdirSync(folder)) {
    const file = `${folder}/${name}`;
    const isOld = fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs < Date.now() - keptMs;
    if (isOld) remove(file);
  }
}

function remove(file) {
  try {
    fs.unlinkSync(file);
  } catch {
    // It was never there, or has to stay.
  }
}
