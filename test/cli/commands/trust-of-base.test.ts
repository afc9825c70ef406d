import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCliRepository } from '../../helpers/cli.ts';
import { createPair, script } from '../../helpers/untrusted.ts';

const run = ['run', 'pair', '-p', 'go'];

/** A repository whose user has agreed to everything, and that has lost the script of the first role since. */
async function withoutScript(): Promise<ReturnType<typeof createPair> & { mark: string; commitOther: () => string }> {
  const repository = createPair();
  const { dir, git } = repository;
  git('rm', '-q', '--cached', '-r', '--ignore-unmatch', '.');
  rmSync(join(dir, 'one.sh'));
  git('add', '-A');
  git('commit', '-qm', 'without');
  expect(await repository.uwf(['trust', '--all'])).toMatchObject({ code: 0 });
  const mark = `${dir}-ran`;
  const commitOther = (): string => {
    writeFileSync(join(dir, 'one.sh'), `echo ran >> '${mark}'\n${script('one')}`);
    git('add', '-A');
    git('commit', '-qm', 'with a script of another person');
    const commit = git('rev-parse', 'HEAD');
    git('reset', '-q', '--hard', 'HEAD~1');
    return commit;
  };
  return { ...repository, mark, commitOther };
}

test('a script of an agent that only the base of a thread has is asked for before it runs', async () => {
  const { uwf, mark, commitOther } = await withoutScript();
  const refused = await uwf([...run, '--from', commitOther()]);
  expect(existsSync(mark)).toBe(false);
  expect(refused.code).toBe(6);
  expect(refused.stderr).toContain('would run: agents.one\n');
  const [, folder = '', thread = ''] =
    /'uwf -C (\S+) trust one' agrees.*'uwf thread run (\S+)'/.exec(refused.stderr) ?? [];
  expect(await uwf(['-C', folder, 'trust', 'one'])).toMatchObject({ code: 0 });
  expect(await uwf(['thread', 'run', thread])).toMatchObject({ code: 0 });
  expect(readFileSync(mark, 'utf8')).toBe('ran\n');
});

test('a worker runs no script that another person has pushed before its user has agreed to it', async () => {
  const { git, dir, uwf, mark, commitOther } = await withoutScript();
  const remote = createCliRepository({}, { bare: true });
  git('remote', 'add', 'origin', remote.dir);
  const commit = commitOther();
  git('push', '-q', 'origin', 'HEAD:refs/heads/main', `${commit}:refs/heads/other`);
  expect(await uwf([...run, '--from', commit, '--on', 'origin', '--background'])).toMatchObject({ code: 0 });
  const worked = await uwf(['worker', '--once', '--poll', '1s'], { cwd: dir });
  expect(worked.stderr).toContain('agents.one');
  expect(existsSync(mark)).toBe(false);
});

test('a worker without consent names a command that gives it', async () => {
  const { git, uwf } = createPair();
  const remote = createCliRepository({}, { bare: true });
  git('remote', 'add', 'origin', remote.dir);
  git('add', '-A');
  git('commit', '-q', '--allow-empty', '-m', 'code');
  git('push', '-q', 'origin', 'HEAD:refs/heads/main');
  expect(await uwf([...run, '--isolate', '--on', 'origin', '--background'])).toMatchObject({ code: 0 });
  const refused = await uwf(['worker', '--once', '--poll', '1s']);
  const [, ...words] = /'uwf (trust) (one)' agrees/.exec(refused.stderr) ?? [];
  expect(words).toEqual(['trust', 'one']);
  expect(await uwf(words)).toMatchObject({ code: 0 });
  const worked = await uwf(['worker', '--once', '--poll', '1s']);
  expect(worked.stderr).not.toContain('agents.one');
});
