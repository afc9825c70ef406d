import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const inPackage = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//;

/**
 * The licence texts of every package of which something is in the given bundles, as their licences ask of a copy.
 *
 * @param results esbuild's results, made with `metafile`
 * @throws {Error} if a package names no licence at all: then it must not be bundled
 */
export function licencesOf(root, results) {
  const folders = new Map();
  for (const input of results.flatMap((result) => Object.keys(result.metafile.inputs))) {
    const match = inPackage.exec(input);
    if (match !== null) folders.set(match[2], path.join(root, match[1]));
  }
  return [...folders]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, folder]) => section(name, folder))
    .join('\n');
}

function section(name, folder) {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  if (manifest.license === undefined) throw new Error(`${name} names no licence`);
  const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying)(\.|$)/i.test(entry));
  const text = file === undefined ? '' : `\n${readFileSync(path.join(folder, file), 'utf8').trim()}\n`;
  return `${name} ${manifest.version} (${manifest.license})\n${text}`;
}
