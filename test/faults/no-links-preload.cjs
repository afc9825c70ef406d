// A file system without hard links, as exFAT and some network file systems are. `node --require` loads it before the program.
'use strict';

require('node:fs').linkSync = () => {
  throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM', syscall: 'link' });
};
