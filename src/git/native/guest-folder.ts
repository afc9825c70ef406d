import { existsSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GitEnvironment } from '../git-directory.ts';
import { asStorageError } from '../object-errors.ts';
import type { ObjectFormat } from '../object-id.ts';
import type { RemoteRef } from '../remote.ts';
import type { RepositoryLocation } from '../repository.ts';
import { formatGitVariables, isOfRepository, keyOf, type GitVariable } from './git-variables.ts';
import { Quarantine } from './quarantine.ts';
import type { GitRun } from './run-git.ts';

/**
 * Sections of the repository's own configuration that say how a remote is reached, and by what right. Which transports are
 * allowed is not the repository's to say.
 */
const reaching = /^(?:remote|url|http|credential|ssh|pack|push)\.|^core\.(?:sshcommand|askpass|gitproxy)$/i;
/** What they say beside that: which refs come and go, which is asked for on the command line instead. */
const aboutRefs = new Set(['fetch', 'push', 'mirror', 'prune', 'prunetags', 'tagopt', 'partialclonefilter']);

type Setting = Pick<GitVariable, 'name' | 'value'>;

function ownSettings(format: ObjectFormat): Setting[] {
  return [
    { name: 'core.repositoryformatversion', value: '1' },
    ...(format === 'sha1' ? [] : [{ name: 'extensions.objectformat', value: format }]),
    { name: 'core.bare', value: 'true' },
    // git is told of the local refs that matter; the alternate would tell it of all of them once more.
    { name: 'core.alternaterefsprefixes', value: 'refs/none/' },
  ];
}

/** The repository that a guest folder is beside. */
export type GuestOf = {
  location: RepositoryLocation;
  env: GitEnvironment;
  /** Its folder for what is machine-local. */
  stateDir: string;
  format: ObjectFormat;
  /** Tells what git is configured to there. */
  listVariables: () => Promise<readonly GitVariable[]>;
};

/** What leads git to other objects or refs than those of the folder. */
const unset = {
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_SHALLOW_FILE: undefined,
  GIT_REPLACE_REF_BASE: undefined,
  GIT_GRAFT_FILE: undefined,
};

/**
 * A git folder of its own, in which native git talks to a remote: it sees the repository's objects and reaches remotes
 * as the repository does, but has refs, hooks and packs of its own.
 *
 * It lies in a {@link Quarantine}, so that what a killed process leaves is found and removed.
 */
export class GuestFolder {
  readonly quarantine: Quarantine;
  readonly #run: Pick<GitRun, 'location' | 'env' | 'cwd'>;

  private constructor(quarantine: Quarantine, env: GitEnvironment, cwd: string) {
    this.quarantine = quarantine;
    const location: RepositoryLocation = { gitDir: quarantine.path, commonDir: quarantine.path, workTree: undefined };
    this.#run = { location, env: { ...env, ...unset }, cwd };
  }

  /**
   * @param refs what the folder's refs are at first; names that git would accept, in any order
   * @throws {StorageFull} / {StorageReadOnly} / {GitNotFound} / {GitFailed}
   */
  static async create(host: GuestOf, refs: readonly RemoteRef[]): Promise<GuestFolder> {
    const { location, env, stateDir, format } = host;
    const copied = (await host.listVariables()).filter(isCopied);
    const objects = env['GIT_OBJECT_DIRECTORY'] || join(location.commonDir, 'objects');
    const quarantine = new Quarantine(incomingFolder(stateDir), objects);
    try {
      const write = (name: string, text: string): void => writeFileSync(join(quarantine.path, name), text);
      for (const name of ['refs', 'objects/info']) mkdirSync(join(quarantine.path, name));
      // Behind the object folder the repository's own alternates follow: git reads them recursively.
      write('objects/info/alternates', `${[objects, ...alternatesOf(env)].join('\n')}\n`);
      write('HEAD', 'ref: refs/heads/none\n');
      write('config', formatGitVariables([...copied, ...ownSettings(format)]));
      write('packed-refs', formatPackedRefs(refs));
      const shallow = join(location.commonDir, 'shallow');
      if (existsSync(shallow)) copyFileSync(shallow, join(quarantine.path, 'shallow'));
    } catch (error) {
      quarantine.remove();
      throw asStorageError(error, quarantine.path);
    }
    return new GuestFolder(quarantine, env, location.workTree ?? location.gitDir);
  }

  /** The folder as git finds it. */
  get location(): RepositoryLocation {
    return this.#run.location;
  }

  /** What a git in this folder inherits. */
  get env(): GitEnvironment {
    return this.#run.env;
  }

  /** Where git writes what it brings. */
  get path(): string {
    return this.quarantine.path;
  }

  /** A run of git in this folder, which finds relative paths as one in the repository does. */
  run(args: readonly string[]): GitRun {
    return { ...this.#run, args };
  }

  remove(): void {
    this.quarantine.remove();
  }
}

/** Where what comes from remotes, and what goes to them, waits. */
export function incomingFolder(stateDir: string): string {
  return join(stateDir, 'incoming');
}

/** The form of a `packed-refs` file. Source: git's refs/packed-backend.c. */
export function formatPackedRefs(refs: readonly RemoteRef[]): string {
  const lines = refs.map(({ name, id }) => [Buffer.from(name), `${id} ${name}\n`] as const);
  const sorted = lines.toSorted(([left], [right]) => left.compare(right));
  return `# pack-refs with: sorted \n${sorted.map(([, line]) => line).join('')}`;
}

function isCopied({ scope, name }: GitVariable): boolean {
  // git reads the user's and the system's configuration by itself, and what is set on the command line.
  if (!isOfRepository({ scope })) return false;
  return reaching.test(name) && !(name.startsWith('remote.') && aboutRefs.has(keyOf(name)));
}

function alternatesOf(env: GitEnvironment): string[] {
  // One path a line there, several divided by colons here: a path that needs quotes is quoted alike in both.
  return (env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] ?? '').match(/"(?:[^"\\]|\\.)*"|[^:]+/g) ?? [];
}
