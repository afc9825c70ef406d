import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { root, testDocument } from './live-document.ts';

testDocument('README.md', (folder) => {
  // As `npm install uwf` would have it.
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(root, path.join(folder, 'node_modules/uwf'));
});
