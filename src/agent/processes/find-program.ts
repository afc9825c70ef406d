import { delimiter, resolve } from 'node:path';
import { isExecutable } from '../../git/repository/git-directory.ts';

/**
 * Finds the program that would be started, as the system does: with a slash in its name in `folder`, else on `path`.
 * @returns its absolute path; undefined where there is none that may be executed
 */
export function findProgram(program: string, folder: string, path: string): string | undefined {
  const places = program.includes('/')
    ? [resolve(folder, program)]
    : path.split(delimiter).map((place) => resolve(folder, place, program));
  return places.find(isExecutable);
}
