import { isAbsolute, relative, sep } from 'node:path';

/** Tells whether a path is a folder or lies in it, by name: links are not followed. */
export function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
