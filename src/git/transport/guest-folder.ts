import { existsSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asStorageError } from '../format/errors.ts';
import type { ObjectFormat } from '../format/object-id.ts';
import type { RemoteRef } from './remote.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { formatGitVariables, isOfRepository, type GitVariable } from '../process/git-variables.ts';
import { keyOf } from '../format/config.ts';
import { objectFolderOf, Quarantine } from '../stores/quarantine.ts';
import type { GitRun } from '../process/run-git.ts';

/**
 * Variables of the repository's own configuration that say how a remote is reached, and with which credentials. The allowed
 * transports are not the repository's decision.
 */
const reaching = /^(?:remote|url|http|credential|ssh|pack|push)\.|^core\.(?:sshcommand|askpass|gitproxy)$/i;
/** Variables of remotes that select refs, which the command line does here. */
const aboutRefs = new Set(['fetch', 'push', 'mirror', 'prune', 'prunetags', 'tagopt']);

type Setting = Pick<GitVariable, 'name' | 'value'>;

function ownSettings(format: ObjectFormat): Setting[] {
  return [
    { name: 'core.repositoryformatversion', value: '1' },
    ...(format === 'sha1' ? [] : [{ name: 'extensions.objectformat', value: format }]),
    { name: 'core.bare', value: 'true' },
    // The local refs are written into the folder; git must not read them again from the alternate.
    { name: 'core.alternaterefsprefixes', value: 'refs/none/' },
  ];
}

export type GuestOf = {
  location: RepositoryLocation;
  env: GitEnvironment;
  stateDir: string;
  format: ObjectFormat;
  listVariables: () => Promise<readonly GitVariable[]>;
};

/** Variables that name other objects or refs than those of the folder. */
const unset = {
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_COMMON_DIR: undefined,
  GIT_SHALLOW_FILE: undefined,
  GIT_REPLACE_REF_BASE: undefined,
  GIT_GRAFT_FILE: undefined,
};

/**
 * A separate git folder in which git talks to a remote. It sees the repository's objects and reaches remotes as the
 * repository does, but has its own refs, hooks and packs.
 *
 * It is a {@link Quarantine}, so that the folder of a killed process is found and removed.
 */
export class GuestFolder extends Quarantine {
  readonly location: RepositoryLocation;
  readonly env: GitEnvironment;
  readonly #cwd: string;

  private constructor({ location, env, stateDir }: GuestOf, objects: string) {
    super(incomingFolder(stateDir), objects);
    this.location = { gitDir: this.path, commonDir: this.path, workTree: undefined };
    this.env = { ...env, ...unset };
    this.#cwd = location.workTree ?? location.gitDir;
  }

  /** @param refs the first refs of the folder; with names that git accepts, in any order */
  static async create(host: GuestOf, refs: readonly RemoteRef[]): Promise<GuestFolder> {
    const { location, env, format } = host;
    const copied = (await host.listVariables()).filter(isCopied);
    const objects = objectFolderOf(location, env);
    const folder = new GuestFolder(host, objects);
    try {
      const write = (name: string, text: string): void => writeFileSync(join(folder.path, name), text);
      for (const name of ['refs', 'objects/info']) mkdirSync(join(folder.path, name));
      // git follows the repository's own alternates recursively.
      // Paths are separated by colons in the variable and by line ends in the file, with the same quoting.
      const alternates = (env['GIT_ALTERNATE_OBJECT_DIRECTORIES'] ?? '').match(/"(?:[^"\\]|\\.)*"|[^:]+/g) ?? [];
      write('objects/info/alternates', `${[objects, ...alternates].join('\n')}\n`);
      write('HEAD', 'ref: refs/heads/none\n');
      write('config', formatGitVariables([...copied, ...ownSettings(format)]));
      write('packed-refs', formatPackedRefs(refs));
      const shallow = join(location.commonDir, 'shallow');
      if (existsSync(shallow)) copyFileSync(shallow, join(folder.path, 'shallow'));
      return folder;
    } catch (error) {
      folder.remove();
      throw asStorageError(error, folder.path);
    }
  }

  /** A run of git in this folder, which resolves relative paths as in the repository. */
  run(args: readonly string[]): GitRun {
    return { location: this.location, env: this.env, cwd: this.#cwd, args };
  }
}

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
  // git reads the user's and the system's configuration and the command line itself.
  if (!isOfRepository({ scope })) return false;
  return reaching.test(name) && !(name.startsWith('remote.') && aboutRefs.has(keyOf(name)));
}
