import { describe, expect, test } from 'vitest';
import { committerFromGit } from '../../../src/git/repository/repository-config.ts';
import type { RepositoryLocation } from '../../../src/git/repository.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../helpers/temporary-repository.ts';

const { GIT_COMMITTER_NAME: _name, GIT_COMMITTER_EMAIL: _email, ...anonymous } = isolatedGitEnvironment;

const locationOf = ({ dir }: TemporaryRepository): RepositoryLocation => ({
  gitDir: `${dir}/.git`,
  commonDir: `${dir}/.git`,
  workTree: dir,
});

describe('who commits', () => {
  test('is what the environment says, without asking git', async () => {
    const repository = createTemporaryRepository();
    const env = { GIT_COMMITTER_NAME: 'Env', GIT_COMMITTER_EMAIL: 'env@example.com', PATH: '/nowhere' };
    expect(await committerFromGit(locationOf(repository), env)).toEqual({ name: 'Env', email: 'env@example.com' });
  });

  test('is user.*, and committer.* before it, the last of several', async () => {
    const repository = createTemporaryRepository();
    // Each command opens the repository anew.
    const committer = (env: typeof anonymous) => committerFromGit(locationOf(repository), env);
    repository.git('config', 'user.name', 'First');
    repository.git('config', '--add', 'user.name', 'User\nof two lines');
    repository.git('config', 'user.email', 'user@example.com');
    expect(await committer(anonymous)).toEqual({
      name: 'User\nof two lines',
      email: 'user@example.com',
    });
    repository.git('config', 'committer.name', 'Committer');
    expect(await committer(anonymous)).toEqual({ name: 'Committer', email: 'user@example.com' });
    expect(await committer({ ...anonymous, GIT_COMMITTER_EMAIL: 'env@example.com' })).toEqual({
      name: 'Committer',
      email: 'env@example.com',
    });
  });

  test('is filled up where only one half is known', async () => {
    const repository = createTemporaryRepository();
    repository.git('config', 'user.name', 'Only Name');
    expect(await committerFromGit(locationOf(repository), anonymous)).toEqual({
      name: 'Only Name',
      email: 'uwf@localhost',
    });
    expect(await committerFromGit(locationOf(repository), { ...anonymous, EMAIL: 'mail@example.com' })).toEqual({
      name: 'Only Name',
      email: 'mail@example.com',
    });
  });

  test('is nobody where nothing is set, and where there is no git', async () => {
    const location = locationOf(createTemporaryRepository());
    expect(await committerFromGit(location, anonymous)).toBeUndefined();
    expect(await committerFromGit(location, { ...anonymous, PATH: '/nowhere' })).toBeUndefined();
  });
});
