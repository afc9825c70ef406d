import { apartPlugin } from './apart-plugin.js';
import { builtInChecksPlugin } from './built-in-checks-plugin.js';
import { lazyBuiltinsPlugin } from './lazy-builtins-plugin.js';
<<<<<<< Updated upstream
import { partsPlugin } from './parts-plugin.js';
import { vendorPlugin } from './vendor-plugin.js';

/**
 * Bundles a program in parts, each of which is read only when something in it is needed.
 *
 * A part has the files that `artefact.parts` names for it and all that these import by `import … from`, but for what an
 * earlier part has; the last one has what is left. So no file is in two of them: a later part takes from earlier ones what
 * it shares with them, and what a part asks for by `import()` may lie in any.
=======
import { followingParts } from './parts-plugin.js';
import { vendorPlugin } from './vendor-plugin.js';

/** A source that offers files by their names, each evaluated when it is first asked for. */
function offer(names) {
  const lines = [...names]
    .toSorted()
    .map((name) => `exports.modules[${JSON.stringify(name)}] = () => require('./${name}');\n`);
  return `exports.modules = {};\n${lines.join('')}`;
}

/**
 * Bundles a program in parts, each of which is read only when something in it is needed.
 *
 * A part holds the files that are named for it, and all that these import by `import … from`, as far as no part before it
 * has them; the last one holds what is left, which is only imported by `import()`. No file is in two of them.
>>>>>>> Stashed changes
 *
 * @param artefact.parts in the order in which they take files; the first also has the entry, and the last names none
 * @param options esbuild's options for programs
<<<<<<< Updated upstream
 * @returns the result of each part, by the name of its file, what is needed by others first
 */
export async function bundleSplitProgram(root, artefact, { build, options, wanted }) {
  const { entry, parts } = artefact;
  const bundle = (contents, plugin) =>
    build({
      ...options,
      stdin: { contents, resolveDir: root, loader: 'js' },
      plugins: [apartPlugin, builtInChecksPlugin, lazyBuiltinsPlugin, plugin, vendorPlugin(wanted)],
=======
 * @returns the result of each part, by the name of its file; one that is needed by others comes before them
 */
export async function bundleSplitProgram(root, artefact, { build, options, wanted }) {
  const { entry, parts } = artefact;
  const last = parts.at(-1).output;
  /** In which part each file is. */
  const places = new Map();
  /** What is imported by `import()` and has no place yet. */
  const late = new Set();
  const bundle = (contents, part) =>
    build({
      ...options,
      stdin: { contents, resolveDir: root, loader: 'js' },
      plugins: [
        apartPlugin,
        builtInChecksPlugin,
        lazyBuiltinsPlugin,
        followingParts(root, { places, part, late: part === last ? undefined : late }),
        vendorPlugin(wanted),
      ],
>>>>>>> Stashed changes
      // `import()` of what is in the bundle, or Node's own, does with `require`; the loader's cache asks for it.
      supported: { 'dynamic-import': false },
    });

<<<<<<< Updated upstream
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
      (place === 0 ? `Object.assign(exports, require('./${entry}'));\n` : '') + offer(asked[place]),
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
=======
  // Which files belong to a part is known only after the bundler has followed the imports.
  const named = parts.map(({ output, files }, at) => [output, at === 0 ? [entry, ...files] : files]);
  const offered = new Map();
  for (const [output, files] of named) {
    const start = (files ?? [...late]).filter((name) => !places.has(name));
    for (const name of start) places.set(name, output);
    const { metafile } = await bundle(offer(start), output);
    const own = Object.keys(metafile.inputs).filter((name) => name.startsWith('src/'));
    for (const name of own) places.set(name, output);
    for (const name of own) late.delete(name);
    // Every file that the last part does not offer is one that the bundler can make smaller.
    offered.set(output, output === last ? start : own);
  }
  const results = [];
  for (const [output, names] of offered) {
    const main = output === parts[0].output ? `Object.assign(exports, require('./${entry}'));\n` : '';
    results.unshift([output, await bundle(main + offer(names), output)]);
  }
  return results;
>>>>>>> Stashed changes
}
