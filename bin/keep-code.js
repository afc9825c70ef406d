'use strict';
const fs = require('node:fs');

/** Older caches are removed: most belong to versions of uwf or Node that are gone. A start that needs one writes it again. */
const keptMs = 100 * 24 * 60 * 60 * 1000;

/**
 * Has V8 write down what it has compiled of a script, in the first of some folders that takes it.
 *
 * The file is whole or absent: it is written under another name, synced, and renamed. It contains the code twice, because
 * V8 does not detect damage: the reader compares the halves. An existing file stays. Files older than 100 days are removed.
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
    const isOld = (fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < Date.now() - keptMs;
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
