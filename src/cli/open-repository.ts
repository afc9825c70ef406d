import { committerFromGit } from '../git/identity.ts';
import { openRepository } from '../git/open-repository.ts';
import { RepositoryNotFound } from '../git/repository-not-found.ts';
import type { Repository } from '../git/repository.ts';
import type { CliContext } from './context.ts';
import { createPalette } from './output/palette.ts';

/**
 * Opens the repository of a command that only reads.
 *
 * It is the one that git would work on here; where there is none and no `-C` was given, the one of `UWF_REPOSITORY`, so
 * that an agent that works in another folder still finds its thread.
 * @throws {RepositoryNotFound} if there is none
 */
export async function openToRead(cli: CliContext): Promise<Repository> {
  try {
    return await openRepository(cli.cwd, { env: cli.env, now: cli.now });
  } catch (error) {
    const other = cli.env['UWF_REPOSITORY'];
    if (!(error instanceof RepositoryNotFound) || cli.isFolderGiven || !other) throw error;
    return openRepository(other, { env: cli.env, now: cli.now, isNamed: true });
  }
}

/**
 * Opens the repository of a command that commits, as the user that git knows.
 *
 * Where git knows none the fallback is used, and said once.
 */
export async function openToWrite(cli: CliContext): Promise<Repository> {
  const [repository] = await Promise.all([openToRead(cli), prepareHashing()]);
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

/** Commands that only read and need no hash do not load what computes them. */
async function prepareHashing(): Promise<void> {
  const { prepareHashing: prepare } = await import('../cas/hash.ts');
  await prepare();
}
