import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { findPackage, mapConfigTexts } from '../../agent/load/find-package.ts';
import { assertJsonValue, canonicalJson } from '../../cas/canonical.ts';
import { SETUP } from '../../engine/agents/admission.ts';
import type { ConfigSetting } from '../../engine/config/parse-config.ts';
import type { AgentUse } from '../../engine/engine-context.ts';
import { messageOf, UwfError } from '../../errors.ts';
import type { Repository, RepositoryLocation } from '../../git/repository.ts';
import { realPath } from '../../git/repository/git-directory.ts';
import type { OwnProgram } from '../../git/repository/own-programs.ts';
import { isWithin, READ, readRegularFile, whileOpen } from '../../git/system/files.ts';
import { isJsonObject, type JsonValue, mapTexts, parseJson } from '../../json.ts';
import { orElse } from '../../or-else.ts';
import { arrayOf, isNumber, isString, objectOf, oneOf, type Shape } from '../../shape.ts';
import { stateFolder } from '../open/open-repository.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** Something that a repository wants to run or to let out, and that a person has to agree to. */
export type TrustClaim = Consent & {
  /** Where it is declared: `file:line:column`. */
  declaredAt: string | undefined;
  /** Where it would work; `undefined` for what is no agent. */
  cwd: string | undefined;
};

type NamedFile = Consent['files'][number];

/** What an agent claims to run; `undefined` if it needs no agreement. */
export function claimOfAgent(use: AgentUse, hasher: FileHasher): TrustClaim | undefined {
  if (isHarmless(use)) return undefined;
  const { name, package: reference, version, config, declaredAt, isUsersOwn } = use.binding;
  const files = [...packageFiles(use, hasher), ...namedFiles(use, hasher)];
  // What the user's own configuration declares needs no agreement. What is in the repository may come from another person.
  if (isUsersOwn && files.length === 0) return undefined;
  const declared = { package: reference, ...(version !== undefined && { version }), config };
  const title = name === SETUP ? name : `agents.${name}`;
  return { ...consentTo(title, declared, [...linesOf(declared)], files), declaredAt, cwd: use.cwd };
}

export function claimOfSetting({ name, value, declaredAt }: ConfigSetting): TrustClaim {
  return { ...consentTo(name, value, [...linesOf({ [name]: value })], []), declaredAt, cwd: undefined };
}

/** What a repository's own configuration of git claims to run, with the files that its command lines name. */
export function claimOfGit(
  programs: readonly OwnProgram[],
  { workTree, gitDir, commonDir }: RepositoryLocation,
  hasher: FileHasher,
): TrustClaim {
  // Git starts programs there.
  const top = workTree ?? gitDir;
  const words = programs.flatMap(({ value }) => [value, ...value.replace(/^!/, '').split(/\s+/u)]);
  const named = [...new Set(words)].flatMap((word) => fileAt(word, top, [top, commonDir], hasher) ?? []);
  const hooks = programs.flatMap(({ value, folder }) =>
    (folder === undefined ? [] : ['hooks', 'config', '.git/hooks', '.git/config']).map((part) => {
      return { word: `${part} of ${value}`, ...hasher.hashFolder(join(folder ?? '', part)) };
    }),
  );
  const lines = programs.map(({ name, value }) => `${name} = ${value}`);
  const declaredAt = join(commonDir, 'config');
  return { ...consentTo('git', lines, lines, [...named, ...hooks]), declaredAt, cwd: undefined };
}

/** An agreement is to one digest: of what is declared in canonical form, and of the contents of the files that it names. */
function consentTo(name: string, declared: unknown, lines: string[], named: readonly NamedFile[]): Consent {
  const unique = new Map(named.map((file) => [`${file.word}\0${file.sha256}`, file]));
  // The order of keys says nothing.
  const files = [...unique].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, file]) => file);
  const covered: unknown = { declared, files: files.map(({ word, sha256 }) => [word, sha256]) };
  assertJsonValue(covered);
  return { name, digest: createHash('sha256').update(canonicalJson(covered)).digest('hex'), lines, files };
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

function* linesOf(value: JsonValue, path = ''): Generator<string> {
  if (!isJsonObject(value)) yield `${path}: ${JSON.stringify(value)}`;
  else for (const [key, member] of Object.entries(value)) yield* linesOf(member ?? null, path ? `${path}.${key}` : key);
}

/** The files of an agent's package, if it is in the repository: its code is then what the repository says, not a registry. */
function packageFiles({ binding, root }: AgentUse, hasher: FileHasher): NamedFile[] {
  const found = binding.package.startsWith('builtin:') ? undefined : findPackage(binding.package, root);
  if (found === undefined || !isInside(found.folder, [root])) return [];
  return [{ word: `the package ${binding.package}`, ...hasher.hashFolder(found.folder) }];
}

/**
 * The files that a configuration names outright: by a whole text, or by the value of an option (`--import=./hook.js`). Nothing
 * is looked for in the command line of a shell. Paths are resolved from the folder where the agent works and, because some
 * agents look for files there, from the top of the work tree. A folder of `PATH` counts with the files in it: programs are
 * found there that a word, or a shell, names without a folder.
 */
function namedFiles({ binding, cwd, root, isLeft }: AgentUse, hasher: FileHasher): NamedFile[] {
  const found: NamedFile[] = [];
  const look = (word: string, folder: string): boolean => {
    const file = fileAt(word, folder, [root, cwd], hasher);
    if (file !== undefined) found.push(file);
    return file !== undefined;
  };
  mapConfigTexts(binding.config, (text, isProgramWord) => {
    const isAtTop = look(text, root);
    // The file at the top is run then, whatever an agent left under its name: see `isLeft`.
    if (cwd !== root && !(isLeft && isProgramWord && isAtTop)) look(text, cwd);
    const value = text.slice(text.indexOf('=') + 1);
    if (value !== text) for (const folder of new Set([root, cwd])) look(value, folder);
    return text;
  });
  mapTexts(binding.config, (text, key) => {
    for (const way of key === 'PATH' ? new Set(text.split(delimiter)) : []) {
      const folder = resolve(cwd, way);
      const isFolder = orElse(() => statSync(folder).isDirectory(), false);
      if (!isFolder || !isNamed(way, folder, [root, cwd])) continue;
      found.push({ word: `PATH ${way}`, ...hasher.hashFolder(folder, 1) });
    }
    return text;
  });
  return found;
}

/** The file that a word names from a folder; `undefined` if it names none, or one that is not the repository's. */
function fileAt(word: string, folder: string, tops: readonly string[], hasher: FileHasher): NamedFile | undefined {
  const path = resolve(folder, word);
  const file = word === '' || !isNamed(word, path, tops) ? undefined : hasher.hashFile(path);
  return file && { word, ...file };
}

/** Tells whether a word can name something of the repository: an absolute path may lead to what is the user's. */
function isNamed(word: string, path: string, tops: readonly string[]): boolean {
  return !isAbsolute(word) || isInside(path, tops);
}

/** Tells whether a path is in one of several folders, by its name or with symbolic links followed. */
function isInside(path: string, tops: readonly string[]): boolean {
  const real = (one: string): string => orElse(() => realpathSync(one), one);
  return tops.some((top) => isWithin(path, top) || isWithin(real(path), real(top)));
}

/** Limits of the files that all agents of a command name together. A person cannot have checked more. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_FILES = 20_000;

class TooMuchToTrust extends UwfError {
  constructor(path: string) {
    super('what the agents of this repository name is more than can be looked at', {
      code: 'too-much-to-trust',
      kind: 'agent',
      hint: `too much is ${JSON.stringify(path)}, after ${MAX_FILES} files or ${MAX_BYTES / 1024 / 1024} MiB; install it outside of the repository`,
    });
  }
}

type HashedFile = { sha256: string; bytes: number };

/** Hashes files, up to limits of their number and size, so that a command does not take long. */
export class FileHasher {
  #bytes = 0;
  #files = 0;
  readonly #buffer = Buffer.allocUnsafe(1024 * 1024);

  /** Hashes a regular file, links followed; `undefined` if there is none at the path, or it cannot be read. */
  hashFile(path: string): HashedFile | undefined {
    this.#count(path);
    // Without O_NONBLOCK, a pipe would be waited for.
    const descriptor = orElse(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), undefined);
    if (descriptor === undefined) return undefined;
    return whileOpen(descriptor, () => (fstatSync(descriptor).isFile() ? this.#hash(descriptor, path) : undefined));
  }

  #hash(descriptor: number, path: string): HashedFile {
    const hash = createHash('sha256');
    let bytes = 0;
    for (;;) {
      const read = readSync(descriptor, this.#buffer);
      bytes += read;
      this.#bytes += read;
      if (this.#bytes > MAX_BYTES) throw new TooMuchToTrust(path);
      if (read === 0) return { sha256: hash.digest('hex'), bytes };
      hash.update(this.#buffer.subarray(0, read));
    }
  }

  #count(path: string): void {
    this.#files += 1;
    if (this.#files > MAX_FILES) throw new TooMuchToTrust(path);
  }

  /** Hashes the files below a folder, down to `depth` levels, with their paths, links followed, each folder once. */
  hashFolder(folder: string, depth: number = Infinity): HashedFile {
    const hash = createHash('sha256');
    const seen = new Set<string>();
    let bytes = 0;
    const visit = (way: string, left: number): void => {
      const names = left === 0 ? undefined : namesIn(join(folder, way), seen);
      if (names === undefined) {
        const file = this.hashFile(join(folder, way));
        bytes += file?.bytes ?? 0;
        hash.update(`${file?.sha256 ?? 'none'} ${way}\0`);
        return;
      }
      this.#count(way);
      for (const name of names) visit(join(way, name), left - 1);
    };
    visit('', depth);
    return { sha256: hash.digest('hex'), bytes };
  }
}

/** The names in a folder; none for a folder that was listed before, and `undefined` if it is no folder or cannot be read. */
function namesIn(path: string, seen: Set<string>): string[] | undefined {
  return orElse(() => {
    const names = readdirSync(path).toSorted();
    const real = realpathSync.native(path);
    if (seen.has(real)) return [];
    seen.add(real);
    return names;
  }, undefined);
}

/** What a person agrees to, as a whole: the digest decides. The rest is there to be read, and to tell what has changed. */
export type Consent = {
  /** As the configuration has it: `agents.tests`, `snapshot`. */
  name: string;
  /** The SHA-256 of what is declared and of the contents of the files that it names. */
  digest: string;
  /** What is declared, a line for each value. */
  lines: string[];
  /** The files that it names, by the words that name them. */
  files: { word: string; sha256: string; bytes: number }[];
};

type ConsentFile = { form: 'uwf trust 1'; repository: string; trusted: Consent[] };

const isConsentFile: Shape<ConsentFile> = objectOf<ConsentFile>({
  form: oneOf(['uwf trust 1']),
  repository: isString,
  trusted: arrayOf(
    objectOf<Consent>({
      name: isString,
      digest: isString,
      lines: arrayOf(isString),
      files: arrayOf(objectOf<Consent['files'][number]>({ word: isString, sha256: isString, bytes: isNumber })),
    }),
  ),
});

/** A file of agreements is far smaller. A larger one is ignored. */
const MAX_STORE_BYTES = 16 * 1024 * 1024;
/** How many agreements are kept of one name: branches may differ. An older one is asked for again. */
const MAX_KEPT = 50;

/** What this user has agreed to for one repository and all its work trees. */
export class Consents {
  readonly #repository: string;
  readonly #path: string;

  constructor({ env }: Pick<CliEnvironment, 'env'>, { location }: Pick<Repository, 'location'>) {
    this.#repository = location === undefined ? '' : realPath(location.commonDir);
    const name = createHash('sha256').update(this.#repository).digest('hex');
    this.#path = join(stateFolder(env), 'trust', name);
  }

  /** What was agreed to, the newest last. A file that another user can write is ignored. */
  read(): Consent[] {
    const isSafe = (): boolean => isOwn(statSync(dirname(this.#path))) && isOwn(lstatSync(this.#path));
    // There is none, or it is damaged: the person is asked again.
    if (!orElse(isSafe, false)) return [];
    const bytes = orElse(() => readRegularFile(this.#path, MAX_STORE_BYTES, READ | constants.O_NOFOLLOW), undefined);
    const value = parseJson(bytes?.toString('utf8') ?? '');
    return isConsentFile(value) && value.repository === this.#repository ? value.trusted : [];
  }

  add(consents: readonly Consent[]): void {
    let trusted = this.read();
    for (const { name, digest, lines, files } of consents) {
      trusted = trusted.filter((one) => one.name !== name || one.digest !== digest);
      const excess = trusted.filter((one) => one.name === name).slice(0, 1 - MAX_KEPT);
      trusted = [...trusted.filter((one) => !excess.includes(one)), { name, digest, lines, files }];
    }
    this.#write(trusted);
  }

  /** Takes back what was agreed to; @returns what that was. @throws {UwfError} if it cannot be written */
  remove(isMeant: (one: Consent) => boolean): Consent[] {
    const trusted = this.read();
    const removed = trusted.filter(isMeant);
    if (removed.length > 0) this.#write(trusted.filter((one) => !isMeant(one)));
    return removed;
  }

  #write(trusted: Consent[]): void {
    const folder = dirname(this.#path);
    const temporary = `${this.#path}.${randomUUID()}.tmp`;
    const content: ConsentFile = { form: 'uwf trust 1', repository: this.#repository, trusted };
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (!isOwn(statSync(folder))) chmodSync(folder, 0o700);
      writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600, flag: 'wx', flush: true });
      renameSync(temporary, this.#path);
    } catch (error) {
      rmSync(temporary, { force: true });
      throw new UwfError(`what you trust cannot be kept in ${this.#path}: ${messageOf(error)}`, {
        code: 'trust-not-kept',
        kind: 'environment',
        hint: 'make that folder writable, or name another one in XDG_STATE_HOME',
        cause: error,
      });
    }
  }
}

export function isAgreed({ name, digest }: Consent, trusted: readonly Consent[]): boolean {
  return trusted.some((one) => one.name === name && one.digest === digest);
}

/** Tells whether something is this user's, and no other can write to it. */
function isOwn({ uid, mode }: { uid: number; mode: number }): boolean {
  const me = process.geteuid?.();
  return (me === undefined || uid === me) && (mode & 0o022) === 0;
}
