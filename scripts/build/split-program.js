import path from 'node:path';
import { build } from 'esbuild';
import { generatedChecksPlugin } from './generated-checks.js';
import { apartFromPrograms, vendorPlugin } from './plugins.js';

/**
 * @typedef {import('./artefacts.js').Part} Part
 * @typedef {import('./bundle.js').Bundle} Bundle
 */

/**
 * Bundles a program in parts, each of which is loaded when something in it is needed.
 *
 * A part has the files that `parts` names for it and all that these import by `import … from`, except what an earlier part
 * has. The last part has the rest. So no file is in two parts. A part that needs a file of another part takes it from there.
 *
 * @param {string} root
 * @param {{ entry: string, parts: Part[] }} artefact
 * @param {import('esbuild').BuildOptions & { write: false, metafile: true }} options esbuild's options for programs
 * @returns {Promise<(readonly [string, Bundle])[]>} each part by the name of its file, what is needed by others first
 */
export async function bundleSplitProgram(root, { entry, parts }, options) {
  /**
   * @param {string} contents
   * @param {import('esbuild').Plugin} plugin
   */
  const bundle = (contents, plugin) =>
    build({
      ...options,
      stdin: { contents, resolveDir: root, loader: 'js' },
      plugins: [apartFromPrograms, generatedChecksPlugin, plugin, vendorPlugin],
      // All that is imported lies in a bundle or is Node's own, and `require` loads it. A program with `import()` could not
      // be cached.
      supported: { 'dynamic-import': false },
    });

  // The bundler has to follow the imports once to find which part has which file.
  /** @type {Map<string, number>} */
  const partOf = new Map();
  for (const [place, { files }] of parts.entries()) {
    if (files === undefined) continue;
    const own = new Set(files);
    // It would be made twice, with two states.
    for (const name of own)
      if (partOf.has(name)) throw new Error(`${name} lies in ${parts[partOf.get(name) ?? 0]?.output} already`);
    const placeOf = (/** @type {string} */ name) => partOf.get(name) ?? (own.has(name) ? place : parts.length - 1);
    const trial = await bundle(offer(own), partsPlugin(root, { parts, place, placeOf, onBorrow: () => {} }));
    const inside = Object.keys(trial.metafile.inputs).filter((name) => name.startsWith('src/'));
    for (const name of inside) partOf.set(name, place);
  }

  const placeOf = (/** @type {string} */ name) => partOf.get(name) ?? parts.length - 1;
  /** For each part, the files that other parts take from it. @type {Set<string>[]} */
  const borrowed = parts.map(() => new Set());
  const onBorrow = (/** @type {string} */ name) => borrowed[placeOf(name)]?.add(name);
  const make = async (/** @type {number} */ place, /** @type {Part} */ part) => {
    const names = borrowed[place] ?? new Set();
    const isFirst = place === 0;
    const contents = part.isAtOnce
      ? (isFirst ? `export * from './${entry}';\n` : '') + offerAtOnce(await exportsOf(root, names))
      : (isFirst ? `Object.assign(exports, require('./${entry}'));\n` : '') + offer(names);
    return /** @type {const} */ ([
      part.output,
      await bundle(contents, partsPlugin(root, { parts, place, placeOf, onBorrow })),
    ]);
  };
  // Making a part shows what it borrows from others, and these may borrow more then: repeated until nothing is added.
  const countBorrowed = () => borrowed.reduce((sum, names) => sum + names.size, 0);
  /** @type {(readonly [string, Bundle])[]} */
  let bundles = [];
  for (let before = -1; countBorrowed() > before;) {
    before = countBorrowed();
    bundles = [];
    for (const [place, part] of [...parts.entries()].toReversed()) bundles.push(await make(place, part));
  }
  return bundles;
}

/**
 * A source that offers files by their names, each evaluated when it is first asked for.
 *
 * @param {Set<string>} names
 */
function offer(names) {
  const members = [...names].toSorted().map((name) => `${JSON.stringify(name)}: () => require('./${name}'),\n`);
  return `exports.modules = {\n${members.join('')}};`;
}

/**
 * A source that offers files by their names, and evaluates all of them, and what they import, at once.
 *
 * What a file exports is offered as values: esbuild's own objects have a getter for each, which takes a fifth of the time to
 * evaluate a part.
 *
 * @param {Map<string, string[]>} files what each exports
 */
function offerAtOnce(files) {
  const all = [...files].map(([name, exported], place) => {
    const local = (/** @type {string} */ one) => `${one}_${place}`;
    return {
      imports: `import { ${exported.map((one) => `${one} as ${local(one)}`).join(', ')} } from './${name}';\n`,
      member: `${JSON.stringify(name)}: () => ({ ${exported.map((one) => `${one}: ${local(one)}`).join(', ')} }),\n`,
    };
  });
  return `${all.map(({ imports }) => imports).join('')}export const modules = {\n${all.map(({ member }) => member).join('')}};`;
}

/**
 * Lists what files export, sorted by their names.
 *
 * @param {string} root
 * @param {Set<string>} names
 * @returns {Promise<Map<string, string[]>>}
 */
async function exportsOf(root, names) {
  const sorted = [...names].toSorted();
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: sorted,
    format: 'esm',
    outdir: 'unused',
    outbase: '.',
    write: false,
    metafile: true,
  });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint = '', exports }) => [entryPoint, exports]));
}

/**
 * Leaves out of one part what lies in another. It is required as `./cli-nodes.cjs#src/cas/hash.ts`, which `bin/uwf.js`
 * understands. esbuild would wrap a module of its own for this in an object for each file that imports it, 800 for a step.
 *
 * @param {string} root
 * @param {object} options
 * @param {Part[]} options.parts of the program
 * @param {number} options.place of the part that is made
 * @param {(name: string) => number} options.placeOf the place of the part that has a source file (`src/git/format/objects.ts`); a
 *   later part counts only for `import()`
 * @param {(name: string) => void} options.onBorrow called with each file that is taken from another part
 * @returns {import('esbuild').Plugin}
 */
function partsPlugin(root, { parts, place, placeOf, onBorrow }) {
  return {
    name: 'parts',
    setup(build) {
      build.onResolve({ filter: /^\./, namespace: 'file' }, (request) => {
        const name = path.relative(root, path.resolve(request.resolveDir, request.path)).replaceAll(path.sep, '/');
        const itsPlace = placeOf(name);
        const isDynamic = request.kind === 'dynamic-import';
        // Within a part that is evaluated at once, `import()` goes through the part too, or it would make a second copy.
        const isHere = itsPlace === place ? !(isDynamic && parts[place]?.isAtOnce) : itsPlace > place && !isDynamic;
        if (isHere || !name.startsWith('src/')) return undefined;
        onBorrow(name);
        return { path: `./${parts[itsPlace]?.output}#${name}`, external: true };
      });
    },
  };
}
