import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The licence texts of packages that are published without a file for it. */
const textsElsewhere = new Map([
  ['@ai-sdk/provider-utils', ['node_modules/ai/LICENSE']],
  ['clean-git-ref', ['node_modules/@opentelemetry/api/LICENSE']],
  ['diff3', ['node_modules/diff3/diff3.js', 'node_modules/diff3/onp.js']],
]);

/**
 * The licence texts of all packages that the given files belong to, as their licences demand of a copy.
 *
 * @param {string} root
 * @param {Iterable<string>} sources relative to `root`
 * @throws {Error} if a package has no licence text: then it must not be bundled
 */
export function licencesOf(root, sources) {
  const folders = new Map();
  for (const source of sources) {
    const match = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(source);
    if (match !== null) folders.set(match[1], match[2]);
  }
  return [...folders]
    .toSorted(([, a], [, b]) => (a < b ? -1 : 1))
    .map(([folder, name]) => licenceOf(root, folder, name))
    .join('\n');
}

/**
 * @param {string} root
 * @param {string} folder of the package
 * @param {string} name of the package
 */
function licenceOf(root, folder, name) {
  const { version, license, author } = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'));
  const own = readdirSync(path.join(root, folder)).filter((entry) =>
    /^(licen[cs]e|copying|notice)([.-]|$)/i.test(entry),
  );
  const files = textsElsewhere.get(name) ?? own.map((file) => `${folder}/${file}`);
  if (typeof license !== 'string' || files.length === 0) throw new Error(`${name} ${version} has no licence text`);
  const by = textsElsewhere.has(name) && author ? ` by ${author.name ?? author}` : '';
  return `${name} ${version}${by} (${license})\n${files.map((file) => `\n${textOf(path.join(root, file))}\n`).join('')}`;
}

/**
 * A licence file, or the comment at the beginning of a source.
 *
 * @param {string} file
 */
function textOf(file) {
  const text = readFileSync(file, 'utf8');
  if (!file.endsWith('.js')) return text.trim();
  const comment = /^(?:\s*\/\*[^]*?\*\/|(?:\s*\/\/.*\n)+)/.exec(text)?.[0] ?? '';
  return comment.replaceAll(/^\s*(?:\/\/|\/?\*+\/?) ?/gm, '').trim();
}
