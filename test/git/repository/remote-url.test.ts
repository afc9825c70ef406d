import fc from 'fast-check';
import { expect, test } from 'vitest';
import { listGitVariables } from '../../../src/git/process/git-variables.ts';
import { remoteUrl } from '../../../src/git/repository/own-programs.ts';
import {
  createTemporaryRepository,
  isolatedGitEnvironment as env,
  runGit,
} from '../../helpers/temporary-repository.ts';

const start = fc.constantFrom('', 'ex:', 'ex:a', 'ex:a/', 'https://', 'https://one/', 'x');
const rule = fc.record({
  base: fc.constantFrom('https://one/', 'ssh://git@two/', '/srv/', 'ex:', 'Three.Four:'),
  key: fc.constantFrom('insteadOf', 'pushInsteadOf'),
  start,
});
const url = fc.constantFrom('ex:a/b.git', 'ex:c.git', 'https://one/a.git', 'https://other/a.git', '/srv/x', 'x');

test('the URL of a remote is that which git tells, whatever is put in the place of what', async () => {
  const property = fc.asyncProperty(
    fc.array(rule, { maxLength: 5 }),
    fc.array(url, { minLength: 1, maxLength: 2 }),
    fc.array(url, { maxLength: 2 }),
    fc.constantFrom('origin', 'Up.Stream'),
    async (rules, urls, pushUrls, name) => {
      const { dir, git, remove } = createTemporaryRepository();
      for (const { base, key, start: value } of rules) git('config', '--add', `url.${base}.${key}`, value);
      for (const value of urls) git('config', '--add', `remote.${name}.url`, value);
      for (const value of pushUrls) git('config', '--add', `remote.${name}.pushurl`, value);
      const location = { gitDir: `${dir}/.git`, commonDir: `${dir}/.git`, workTree: dir };
      const variables = await listGitVariables({ location, env });
      const told = (...args: string[]): string => runGit(dir, ['remote', 'get-url', ...args, '--', name]);
      expect(remoteUrl(variables, name, 'fetch')).toBe(told());
      expect(remoteUrl(variables, name, 'push')).toBe(told('--push'));
      const [first = ''] = urls;
      expect(remoteUrl(variables, first, 'fetch')).toBe(runGit(dir, ['ls-remote', '--get-url', '--', first]));
      remove();
    },
  );
  await fc.assert(property, { numRuns: 40 });
}, 120_000);
