import { apartPlugin } from './apart-plugin.js';
import { builtInChecksPlugin } from './built-in-checks-plugin.js';
import { lazyBuiltinsPlugin } from './lazy-builtins-plugin.js';
import { borrowingEarly, withoutLate } from './late-plugin.js';
import { vendorPlugin } from './vendor-plugin.js';

/** A source that offers files by their names, each evaluated when it is first asked for. */
function offer(names, target) {
  return [...names]
    .toSorted()
    .map((name) => `${target}[${JSON.stringify(name)}] = () => require('./${name}');\n`)
    .join('');
}

/**
 * Bundles a program in two parts, of which the second is read only when something in it is needed.
 *
 * The first holds the entry, the files in `artefact.early`, and all that these import by `import … from`; the second what
 * is only imported by `import()`. No file is in both: the second takes what it shares from the first.
 *
 * @param options esbuild's options for programs
 * @returns the result of each part, by the name of its file
 */
export async function bundleSplitProgram(root, artefact, { build, options, wanted }) {
  const { entry, early, output, lateOutput } = artefact;
  const bundle = (contents, plugins) =>
    build({
      ...options,
      stdin: { contents, resolveDir: root, loader: 'js' },
      plugins: [apartPlugin, builtInChecksPlugin, lazyBuiltinsPlugin, ...plugins, vendorPlugin(wanted)],
      // `import()` of what is in the bundle, or Node's own, does with `require`; the loader's cache asks for it.
      supported: { 'dynamic-import': false },
    });
  const bundleEarly = (contents, isEarly, late) =>
    bundle(contents, [withoutLate(root, { isEarly, late, lateFile: lateOutput })]);

  // Which files those are is known only after the bundler has followed the imports.
  const start = new Set([entry, ...early]);
  const trial = await bundleEarly(offer(start, 'exports'), (name) => start.has(name), new Set());
  const inFirst = new Set(Object.keys(trial.metafile.inputs).filter((name) => name.startsWith('src/')));

  const late = new Set();
  const first = await bundleEarly(
    `Object.assign(exports, require('./${entry}'));\nexports.modules = {};\n${offer(inFirst, 'exports.modules')}`,
    (name) => inFirst.has(name),
    late,
  );
  const second = await bundle(offer(late, 'exports'), [borrowingEarly(root, { early: inFirst, earlyFile: output })]);
  return [
    [lateOutput, second],
    [output, first],
  ];
}
