import { apartPlugin } from './apart-plugin.js';
import { builtInChecksPlugin } from './built-in-checks-plugin.js';
import { lazyBuiltinsPlugin } from './lazy-builtins-plugin.js';
import { partsPlugin } from './parts-plugin.js';
import { vendorPlugin } from './vendor-plugin.js';

/**
 * Bundles a program in parts, each of which is read only when something in it is needed.
 *
 * A part has the files that `artefact.parts` names for it and all that these import by `import … from`, but for what an
 * earlier part has; the last one has what is left. So no file is in two of them: a later part takes from earlier ones what
 * it shares with them, and what a part asks for by `import()` may lie in any.
 *
 * @param options esbuild's options for programs
 * @returns the result of each part, by the name of its file, what is needed by others first
 */
export async function bundleSplitProgram(root, artefact, { build, options, wanted }) {
  const { entry, parts } = artefact;
  const bundle = (contents, plugin) =>
    build({
      ...options,
      stdin: { contents, resolveDir: root, loader: 'js' },
      plugins: [apartPlugin, builtInChecksPlugin, lazyBuiltinsPlugin, plugin, vendorPlugin(wanted)],
      // `import()` of what is in the bundle, or Node's own, does with `require`; the loader's cache asks for it.
      supported: { 'dynamic-import': false },
    });

  // Which files those are is known only after the bundler has followed the imports.
  const partOf = new Map();
  for (const [place, { files }] of parts.entries()) {
    if (files === undefined) continue;
    const own = new Set(files);
    const placeOf = (name) => partOf.get(name) ?? (own.has(name) ? place : parts.length - 1);
    const trial = await bundle(offer(own), partsPlugin(root, { parts, place, placeOf, onBorrow: () => {} }));
    const inside = Object.keys(trial.metafile.inputs).filter((name) => name.startsWith('src/'));
    for (const name of inside) partOf.set(name, place);
  }

  const placeOf = (name) => partOf.get(name) ?? parts.length - 1;
  const asked = parts.map(() => new Set());
  const make = (place) =>
    bundle(
      (place === 0 ? `Object.assign(exports, require('./${entry}'));\n` : '') +
        (parts[place].isAtOnce ? offerAtOnce(asked[place]) : offer(asked[place])),
      partsPlugin(root, { parts, place, placeOf, onBorrow: (name) => asked[placeOf(name)].add(name) }),
    );
  // What parts take from each other shows when they are made, and what is offered then may take more.
  const countAsked = () => asked.reduce((sum, names) => sum + names.size, 0);
  let results;
  for (let before = -1; countAsked() > before;) {
    before = countAsked();
    results = [];
    for (const place of [...parts.keys()].toReversed()) results.push([parts[place].output, await make(place)]);
  }
  return results;
}

/** A source that offers files by their names, each evaluated when it is first asked for. */
function offer(names) {
  const members = [...names].toSorted().map((name) => `${JSON.stringify(name)}: () => require('./${name}'),\n`);
  return `exports.modules = {\n${members.join('')}};`;
}

/** A source that offers files by their names, and evaluates all of them, and what they import, in one go. */
function offerAtOnce(names) {
  const sorted = [...names].toSorted();
  const imports = sorted.map((name, place) => `import * as module${place} from './${name}';\n`);
  const members = sorted.map((name, place) => `${JSON.stringify(name)}: () => module${place},\n`);
  return `${imports.join('')}export const modules = {\n${members.join('')}};`;
}
