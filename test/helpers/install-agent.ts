import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Installs an agent as an npm package of a repository. @param source a CommonJS module */
export function installAgent(repositoryFolder: string, name: string, source: string): void {
  const folder = join(repositoryFolder, 'node_modules', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version: '1.0.0' }));
  writeFileSync(join(folder, 'index.js'), source);
}
