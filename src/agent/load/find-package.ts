import { dirname, join, sep } from 'node:path';
import { NODE_LIMITS, whyNoJson } from '../../cas/canonical.ts';
import { kindOfPath, readFileInside } from '../../git/repository/git-directory.ts';
import { isJsonObject, type JsonObject, type JsonValue, mapTexts } from '../../json.ts';
import { orElse } from '../../or-else.ts';

/** An installed npm package. */
export type InstalledPackage = {
  /** Its folder, absolute. */
  folder: string;
  /** As its manifest has it; `0.0.0` where that has none. */
  version: string;
  /** The module that importing its name gives, absolute; `undefined` where it offers none that lies in its folder. */
  entry: string | undefined;
  /** What its manifest says to uwf without being run: `"uwf": { "capabilities": [], "configSchema": {} }`. */
  said: { capabilities?: string[]; configSchema?: JsonObject };
};

/** Manifests are written by hand. */
const MAX_BYTES = 1024 * 1024;
/** As npm has versions, and no longer ones than it takes: what is no version is stored with no thread. */
const VERSION = /^[\w.+-]{1,256}$/;

/**
 * Finds an npm package from a folder, in `node_modules` there and above. Nothing of it is run.
 *
 * Node itself would look from uwf's own folder only: `import.meta.resolve` takes no other, and `require.resolve` does not
 * see packages that offer themselves to `import` alone.
 * @see https://nodejs.org/api/esm.html#resolution-algorithm-specification
 */
export function findPackage(name: string, fromFolder: string): InstalledPackage | undefined {
  for (let folder = fromFolder; ; folder = dirname(folder)) {
    const packageFolder = join(folder, 'node_modules', name);
    const manifest = readManifest(packageFolder);
    if (manifest !== undefined) {
      const { version } = manifest;
      return {
        folder: packageFolder,
        version: typeof version === 'string' && VERSION.test(version) ? version : '0.0.0',
        entry: inside(packageFolder, entryOf(packageFolder, manifest)),
        said: saidOf(manifest),
      };
    }
    if (folder === dirname(folder)) return undefined;
  }
}

function readManifest(folder: string): JsonObject | undefined {
  // An error: no such package is here; one whose manifest cannot be read is none either.
  return orElse(() => {
    const bytes = readFileInside(folder, join(folder, 'package.json'), MAX_BYTES);
    if (whyNoJson(bytes.subarray(bytes.indexOf('{')), NODE_LIMITS) !== undefined) return undefined;
    const manifest: unknown = JSON.parse(bytes.toString('utf8'));
    return isJsonObject(manifest) ? manifest : undefined;
  }, undefined);
}

function saidOf({ uwf }: JsonObject): InstalledPackage['said'] {
  const { capabilities, configSchema } = isJsonObject(uwf) ? uwf : {};
  const isWords = Array.isArray(capabilities) && capabilities.every((word) => typeof word === 'string');
  return { ...(isWords && { capabilities }), ...(isJsonObject(configSchema) && { configSchema }) };
}

function entryOf(folder: string, { exports, main }: JsonObject): string | undefined {
  if (exports !== undefined && exports !== null) {
    // Beside paths, which begin with a dot, `exports` may hold at once what '.' stands for.
    const hasPaths = isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith('.'));
    const path = target(hasPaths ? exports['.'] : exports);
    return path === undefined ? undefined : join(folder, path);
  }
  if (typeof main !== 'string') return join(folder, 'index.js');
  // Before there were `exports`, endings could be left out.
  const candidates = [main, `${main}.js`, join(main, 'index.js'), 'index.js'].map((path) => join(folder, path));
  return candidates.find((path) => kindOfPath(path) === 'file') ?? join(folder, main);
}

/** A module of another folder is not among the files that a person agrees to, and Node takes none from `exports` either. */
function inside(folder: string, path: string | undefined): string | undefined {
  return path?.startsWith(join(folder, sep)) === true ? path : undefined;
}

/** The first target whose conditions `import` in Node meets, in the order in which the manifest has them. */
function target(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(target).find((path) => path !== undefined);
  if (!isJsonObject(value)) return undefined;
  for (const [condition, nested] of Object.entries(value)) {
    if (!['import', 'node', 'module-sync', 'default'].includes(condition)) continue;
    const path = target(nested);
    if (path !== undefined) return path;
  }
  return undefined;
}

/** Keys of a configuration under which a text, or each text of a list, is a program or goes to one as it is. */
const PROGRAM_KEYS: readonly string[] = ['argv', 'command', 'args'];

/**
 * Gives a configuration with every text in it, at any depth, replaced.
 * @param replace is told whether the text as a whole is a word of a program's command line
 */
export function mapConfigTexts(
  config: JsonObject,
  replace: (text: string, isProgramWord: boolean) => string,
): JsonObject {
  return mapTexts(config, (text, key) => replace(text, PROGRAM_KEYS.includes(key)));
}
