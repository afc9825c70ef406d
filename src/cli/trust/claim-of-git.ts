import { createHash } from 'node:crypto';
import { isAbsolute, join, resolve } from 'node:path';
import { canonicalJson } from '../../cas/canonical.ts';
import type { OwnProgram } from '../../git/native/own-programs.ts';
import type { RepositoryLocation } from '../../git/repository.ts';
import { MOST_WORDS, wordsIn, type Claim } from './claim.ts';
import { TooMuchToTrust, type FileHasher } from './hash-files.ts';
import { isWithin } from '../../is-within.ts';

/** What a repository's own configuration of git claims to run; `undefined` where that is nothing. */
export function claimOfGit(
  programs: readonly OwnProgram[],
  location: RepositoryLocation,
  hasher: FileHasher,
): Claim | undefined {
  if (programs.length === 0) return undefined;
  const said = programs.map(({ name, value }) => [name, value]);
  return {
    name: 'git',
    declaredAt: join(location.commonDir, 'config'),
    definition: createHash('sha256').update(canonicalJson(said)).digest('hex'),
    lines: programs.map(({ name, value }) => `${name} = ${value}`),
    files: [...programFiles(programs, location, hasher), ...hooks(programs, hasher)],
    cwd: undefined,
  };
}

/** The files of the repository that the values name, from the folder where git starts programs. */
function programFiles(
  programs: readonly OwnProgram[],
  { workTree, gitDir, commonDir }: RepositoryLocation,
  hasher: FileHasher,
): Claim['files'] {
  const top = workTree ?? gitDir;
  const words = new Set(programs.flatMap(({ value }) => [value, ...wordsIn(value.replace(/^!/, ''))]));
  if (words.size > MOST_WORDS) throw new TooMuchToTrust(join(commonDir, 'config'));
  return [...words].flatMap((word) => {
    const path = resolve(top, word);
    const isOthers = isAbsolute(word) && !isWithin(path, top) && !isWithin(path, commonDir);
    const file = word === '' || isOthers ? undefined : hasher.hashFile(path);
    return file === undefined ? [] : [{ word, ...file }];
  });
}

function hooks(programs: readonly OwnProgram[], hasher: FileHasher): Claim['files'] {
  return programs.flatMap(({ value, folder }) => {
    if (folder === undefined) return [];
    const parts = ['hooks', 'config', '.git/hooks', '.git/config'];
    return parts.map((part) => ({ word: `${part} of ${value}`, ...hasher.hashFolder(join(folder, part)) }));
  });
}
