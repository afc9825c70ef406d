import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { openRepository } from '../../git/open-repository.ts';
import type { Repository, RepositoryLocation } from '../../git/repository.ts';
import { RepositoryNotFound } from '../../git/repository/git-directory.ts';
import { committerFromGit } from '../../git/repository/repository-config.ts';
import { createDurableFile } from '../../git/system/files.ts';
import { orElse, succeeds, tryTo } from '../../or-else.ts';
import { createPalette } from '../output/text.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/**
 * Opens the repository of a command that only reads: the one that git would use. Without one, and without `-C`, it is that
 * of `UWF_REPOSITORY`: an agent that works in another folder finds its thread by it.
 */
export async function openForReading(cli: CliEnvironment): Promise<Repository> {
  try {
    return await openRepository(cli.cwd, { env: cli.env, now: cli.now });
  } catch (error) {
    const other = cli.env['UWF_REPOSITORY'];
    if (!(error instanceof RepositoryNotFound) || cli.givenFolder !== undefined || !other) throw error;
    return openRepository(other, { env: cli.env, now: cli.now, isNamed: true });
  }
}

/** Opens the repository of a command that commits, as the user that git knows; else as the fallback, and says so once. */
export async function openForWriting(cli: CliEnvironment): Promise<Repository> {
  // Commands that only read and need no hash do not load what computes them.
  const hashing = import('../../cas/hash.ts').then(({ prepareHashing }) => prepareHashing());
  const [repository] = await Promise.all([openForReading(cli), hashing]);
  return withCommitter(cli, repository);
}

/** The same repository for one that commits, as the user that git knows; see {@link openForWriting}. */
export async function withCommitter(cli: CliEnvironment, repository: Repository): Promise<Repository> {
  const committer = repository.location && (await committerFromGit(repository.location, cli.env));
  if (committer !== undefined) return { ...repository, committer };
  const paint = createPalette(cli.stderr, cli.env);
  const { name, email } = repository.committer;
  cli.stderr.write(
    `uwf: no git identity is set; commits are by ${name} <${email}>\n` +
      `${paint.hint('hint:')} run 'git config user.name <name>' and 'git config user.email <address>'\n`,
  );
  return repository;
}

/** @throws {UwfError} `not-on-disk` for a repository in memory */
export function onDisk(repository: Repository): Repository & { location: RepositoryLocation } {
  const { location } = repository;
  if (location !== undefined) return { ...repository, location };
  throw new UwfError('the repository is not on a disk', { code: 'not-on-disk', kind: 'usage' });
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The folder of this user's configuration: `$XDG_CONFIG_HOME/uwf`, which is `~/.config/uwf` where it is not set.
 * @see XDG Base Directory Specification: a path that is not absolute is ignored
 */
export function configFolder(env: Environment): string {
  return join(folderOf(env, 'XDG_CONFIG_HOME') ?? join(homeOf(env), '.config'), 'uwf');
}

/** The folder of what uwf remembers for this user: `$XDG_STATE_HOME/uwf`, which is `~/.local/state/uwf` where it is not set. */
export function stateFolder(env: Environment): string {
  return join(folderOf(env, 'XDG_STATE_HOME') ?? join(homeOf(env), '.local', 'state'), 'uwf');
}

/** The folder for the work trees of threads, of all repositories of this user. */
export function workTreesHere(env: Environment): string {
  return join(stateFolder(env), 'worktrees');
}

/**
 * The user's home, whether it is there or not.
 * @throws {UwfError} `relative-home` if it is no absolute path: a folder of a repository could pass for it
 */
function homeOf(env: Environment): string {
  const home = env['HOME'] ?? homedir();
  if (isAbsolute(home)) return home;
  throw new UwfError(`$HOME is no absolute path: '${home}'`, {
    code: 'relative-home',
    kind: 'usage',
    hint: 'set it to the absolute path of your home, or unset it',
    facts: { home },
  });
}

function folderOf(env: Environment, name: string): string | undefined {
  const folder = env[name];
  return folder !== undefined && isAbsolute(folder) ? folder : undefined;
}

const KEY_BYTES = 32;

/**
 * A key of this user on this machine, made when it is asked for the first time. If it can neither be read nor made, or
 * there is no home, the key is new and for this process only.
 * @param name the file's name in the user's state folder
 */
export function machineKey(env: Readonly<Record<string, string | undefined>>, name: string): Uint8Array {
  const folder = stateFolder(env);
  const path = join(folder, name);
  const known = readKey(path);
  if (known !== undefined) return known;
  const fresh = randomBytes(KEY_BYTES);
  const home = homeOf(env);
  if (folder.startsWith(home) && !existsSync(home)) return fresh;
  const isMade = succeeds(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // A home folder can be a repository: a key that is made during a turn is no change of its files.
    tryTo(() => writeFileSync(join(folder, '.gitignore'), '*\n', { flag: 'wx' }));
    createDurableFile(path, [fresh], 0o600);
  });
  // It is not where another process has made it, or the folder cannot be written to.
  return isMade ? fresh : (readKey(path) ?? fresh);
}

function readKey(path: string): Uint8Array | undefined {
  const key = orElse(() => readFileSync(path), undefined);
  return key?.length === KEY_BYTES ? key : undefined;
}
