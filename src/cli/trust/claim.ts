import { createHash } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, relative, resolve } from 'node:path';
import { orElse } from '../../or-else.ts';
import { SETUP } from '../../engine/agents/admission.ts';
import { findPackage } from '../../agent/load/find-package.ts';
import { mapConfigTexts } from '../../agent/load/program-words.ts';
import { assertJsonValue, canonicalJson } from '../../cas/canonical.ts';
import type { ConfigSetting } from '../../engine/config/parse-config.ts';
import type { AgentUse } from '../../engine/engine-context.ts';
import type { RepositoryLocation } from '../../git/repository.ts';
import type { OwnProgram } from '../../git/repository/own-programs.ts';
import { isWithin } from '../../is-within.ts';
import { isJsonObject, mapTexts, type JsonObject, type JsonValue } from '../../json.ts';
import { TooMuchToTrust, type FileHasher, type HashedFile } from './hash-files.ts';

/** Something that a repository wants to run or to let out, and that a person has to agree to. */
export type TrustClaim = {
  /** As the configuration has it: `agents.tests`, `snapshot`. */
  name: string;
  /** Where it is declared: `file:line:column`. */
  declaredAt: string | undefined;
  /** The SHA-256 of what is declared. */
  definition: string;
  /** What is declared, a line for each value. */
  lines: string[];
  /** The files that it names, by the words that name them. */
  files: ({ word: string } & HashedFile)[];
  /** Where it would work; `undefined` for what is no agent. */
  cwd: string | undefined;
};

/** A longer command line is not one that a person reads. */
const MAX_WORDS = 10_000;

/** What an agent claims to run; `undefined` if it needs no agreement. */
export function claimOfAgent(use: AgentUse, hasher: FileHasher): TrustClaim | undefined {
  if (isHarmless(use)) return undefined;
  const { name, package: reference, version, config, declaredAt, isUsersOwn } = use.binding;
  const files = [...packageFiles(use, hasher), ...namedFiles(use, hasher)];
  // What the user's own configuration declares needs no agreement. What is in the repository may come from another person.
  if (isUsersOwn && files.length === 0) return undefined;
  const declared: JsonObject = { package: reference, ...(version !== undefined && { version }), config };
  return { name: name === SETUP ? name : `agents.${name}`, declaredAt, ...describe(declared), files, cwd: use.cwd };
}

/** What a setting of the repository's configuration claims. */
export function claimOfSetting({ name, value, declaredAt }: ConfigSetting): TrustClaim {
  return { name, declaredAt, ...describe({ [name]: value }), files: [], cwd: undefined };
}

/**
 * Tells whether an agent names no program and lets no data out. Such agents are a person who uses their own editor, a workflow
 * (each of its agents needs an agreement of its own), and a script of replies in the repository's files.
 */
function isHarmless({ binding: { package: reference, config }, root }: AgentUse): boolean {
  if (reference === 'builtin:workflow') return true;
  if (reference === 'builtin:human') return config['editor'] === undefined;
  const { file } = config;
  return reference === 'builtin:scripted' && (typeof file !== 'string' || isInWorkTree(root, file));
}

function isInWorkTree(root: string, file: string): boolean {
  const path = orElse(() => relative(realpathSync(root), realpathSync(resolve(root, file))), '');
  // The path is empty if the file does not exist: then it has nothing to let out.
  return !isAbsolute(path) && !path.split('/').some((part) => part === '..' || part.toLowerCase() === '.git');
}

function describe(declared: JsonObject): { definition: string; lines: string[] } {
  assertJsonValue(declared);
  const definition = createHash('sha256').update(canonicalJson(declared)).digest('hex');
  return { definition, lines: [...linesOf(declared, '')] };
}

function* linesOf(value: JsonValue, path: string): Generator<string> {
  if (!isJsonObject(value)) yield `${path}: ${JSON.stringify(value)}`;
  else for (const [key, member] of Object.entries(value)) yield* linesOf(member ?? null, path ? `${path}.${key}` : key);
}

/** The files of an agent's package, if it is in the repository: its code is then what the repository says, not a registry. */
function packageFiles({ binding, root }: AgentUse, hasher: FileHasher): TrustClaim['files'] {
  if (binding.package.startsWith('builtin:')) return [];
  const found = findPackage(binding.package, root);
  if (found === undefined) return [];
  const { folder } = found;
  // By its name, or with symbolic links followed.
  if (!isWithin(folder, root) && !isWithin(realpathSync(folder), realpathSync(root))) return [];
  return [{ word: `the package ${binding.package}`, ...hasher.hashFolder(folder) }];
}

/**
 * The files that the texts of a configuration name, as a whole or by a word in them. Paths are resolved from the folder where
 * the agent works and, because some agents look for files there, from the top of the work tree.
 */
function namedFiles({ binding, cwd, root, isLeft }: AgentUse, hasher: FileHasher): TrustClaim['files'] {
  const found = new Map<string, TrustClaim['files'][number]>();
  const look = (word: string, folder: string): boolean => {
    const path = resolve(folder, word);
    const isOthers = isAbsolute(word) && !isWithin(path, root) && !isWithin(path, cwd);
    const file = word === '' || isOthers ? undefined : hasher.hashFile(path);
    if (file !== undefined) found.set(`${file.sha256} ${word}`, { word, ...file });
    return file !== undefined;
  };
  const looked = new Set<string>();
  const path = pathsIn(binding.config);
  const lookAll = (word: string, isWhole: boolean): void => {
    const key = `${isWhole} ${word}`;
    if (looked.has(key)) return;
    looked.add(key);
    if (looked.size > MAX_WORDS) throw new TooMuchToTrust(word);
    const isAtTop = look(word, root);
    // The file at the top is run then, whatever an agent left under its name: see `isLeft`.
    const isReplaced = isLeft && isWhole && isAtTop;
    if (cwd !== root && !isReplaced) look(word, cwd);
    if (word !== '' && !word.includes('/')) for (const folder of path) look(join(folder, word), cwd);
  };
  mapConfigTexts(binding.config, (text, isProgramWord) => {
    lookAll(text, isProgramWord);
    const words = wordsIn(text);
    for (const word of words) lookAll(word, isProgramWord && word === text);
    // A shell goes there first: `cd tools && ./test.sh`.
    const folders = new Set(words.filter((word) => isFolder(root, word) || isFolder(cwd, word)));
    for (const folder of folders) for (const word of words) if (!isAbsolute(word)) lookAll(join(folder, word), false);
    return text;
  });
  return [...found.values()];
}

function isFolder(from: string, word: string): boolean {
  return word !== '' && orElse(() => statSync(resolve(from, word)).isDirectory(), false);
}

/**
 * The folders of every `PATH` that a configuration sets, for an agent or for a server of its tools: a program is searched there
 * that a word names without a folder, also one in the command line of a shell.
 */
function pathsIn(config: JsonObject): string[] {
  const folders = new Set<string>();
  mapTexts(config, (text, key) => {
    if (key === 'PATH') for (const folder of text.split(delimiter)) folders.add(folder);
    return text;
  });
  return [...folders];
}

/** The words of a shell's command line, and the value that follows the letter of an option without a space: `-r./hook.js`. */
function wordsIn(text: string): string[] {
  const words = text.split(/[\s"'`=;:|&<>(){}$,@]+/u);
  return [...words, ...words.filter((word) => /^-[A-Za-z]./u.test(word)).map((word) => word.slice(2))];
}

/** What a repository's own configuration of git claims to run. */
export function claimOfGit(
  programs: readonly OwnProgram[],
  location: RepositoryLocation,
  hasher: FileHasher,
): TrustClaim {
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

/** The files of the repository that the values name, with paths resolved from the folder where git starts programs. */
function programFiles(
  programs: readonly OwnProgram[],
  { workTree, gitDir, commonDir }: RepositoryLocation,
  hasher: FileHasher,
): TrustClaim['files'] {
  const top = workTree ?? gitDir;
  const words = new Set(programs.flatMap(({ value }) => [value, ...wordsIn(value.replace(/^!/, ''))]));
  if (words.size > MAX_WORDS) throw new TooMuchToTrust(join(commonDir, 'config'));
  return [...words].flatMap((word) => {
    const path = resolve(top, word);
    const isOthers = isAbsolute(word) && !isWithin(path, top) && !isWithin(path, commonDir);
    const file = word === '' || isOthers ? undefined : hasher.hashFile(path);
    return file === undefined ? [] : [{ word, ...file }];
  });
}

function hooks(programs: readonly OwnProgram[], hasher: FileHasher): TrustClaim['files'] {
  return programs.flatMap(({ value, folder }) => {
    if (folder === undefined) return [];
    const parts = ['hooks', 'config', '.git/hooks', '.git/config'];
    return parts.map((part) => ({ word: `${part} of ${value}`, ...hasher.hashFolder(join(folder, part)) }));
  });
}
