import { UwfError } from '../../errors.ts';
import { openRepository } from '../../git/open-repository.ts';
import type { Repository, RepositoryLocation } from '../../git/repository.ts';
import { RepositoryNotFound } from '../../git/repository/git-directory.ts';
import { committerFromGit } from '../../git/repository/repository-config.ts';
import { createPalette } from '../output/palette.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/**
 * Opens the repository of a command that only reads.
 *
 * It is the repository that git would use. Without one, and without `-C`, it is that of `UWF_REPOSITORY`: an agent that
 * works in another folder finds its thread by it.
 * @throws {RepositoryNotFound} if there is none
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

/**
 * Opens the repository of a command that commits, as the user that git knows.
 *
 * If git knows no user, the fallback is used and a message says so once.
 */
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
