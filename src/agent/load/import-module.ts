import { pathToFileURL } from 'node:url';

/**
 * Imports a module of which only the path is known, such as a package that the user's configuration names.
 *
 * The only place that does so: the build leaves this file out of the programs, which cannot say `import()`.
 */
export async function importModule(path: string): Promise<unknown> {
  return import(pathToFileURL(path).href);
}
