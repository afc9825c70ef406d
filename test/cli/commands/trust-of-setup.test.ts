import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPair, pairConfig } from '../../helpers/untrusted.ts';

const run = ['run', 'pair', '-p', 'go', '--isolate'];

/** A repository whose work trees a script of its own prepares, as a user runs it who has agreed to everything. */
async function trusted(): Promise<ReturnType<typeof createPair> & { mark: string; say: (mark: string) => void }> {
  const repository = createPair({ '.uwf/config.yaml': pairConfig({ isolation: { setup: ['sh', 'tools/setup.sh'] } }) });
  const { dir, git } = repository;
  const mark = `${dir}-ran`;
  const say = (text: string): void => writeFileSync(join(dir, 'tools/setup.sh'), `echo ${text} > '${mark}'\n`);
  mkdirSync(join(dir, 'tools'));
  say('agreed');
  git('add', '-A');
  git('commit', '-qm', 'code');
  expect(await repository.uwf(['trust', '--all'])).toMatchObject({ code: 0 });
  return { ...repository, mark, say };
}

test('a script that prepares work trees is asked for again after a change', async () => {
  const { uwf, mark, say } = await trusted();
  expect(await uwf(run)).toMatchObject({ code: 0 });
  rmSync(mark);
  say('changed');
  const refused = await uwf(run);
  expect(refused).toMatchObject({ code: 6, stdout: '' });
  expect(refused.stderr).toContain('would run: isolation.setup\n');
  expect(existsSync(mark)).toBe(false);
  expect(await uwf(['trust', 'isolation.setup'])).toMatchObject({ code: 0 });
  expect(await uwf(run)).toMatchObject({ code: 0 });
  expect(existsSync(mark)).toBe(true);
});

test('a script that only the base of a thread has is asked for before it runs', async () => {
  const { dir, git, uwf, mark } = await trusted();
  git('rm', '-q', 'tools/setup.sh');
  git('commit', '-qm', 'without');
  // The agreement to the same file at the top holds for it.
  expect(await uwf([...run, '--from', 'HEAD~1'])).toMatchObject({ code: 0 });
  rmSync(mark);
  mkdirSync(join(dir, 'tools'));
  writeFileSync(join(dir, 'tools/setup.sh'), `echo other > '${mark}'\n`);
  git('add', '-A');
  git('commit', '-qm', 'another');
  git('rm', '-q', 'tools/setup.sh');
  git('commit', '-qm', 'without');
  const other = await uwf([...run, '--from', 'HEAD~1']);
  expect(other.stderr).toContain('would run: isolation.setup\n');
  expect(other.code).toBe(6);
  expect(existsSync(mark)).toBe(false);
});

test('the script of the main work tree runs, whatever the base of a thread has under its name', async () => {
  const { git, uwf, mark, say } = await trusted();
  say('hostile');
  git('commit', '-qam', 'hostile');
  const hostile = git('rev-parse', 'HEAD');
  git('reset', '-q', '--hard', 'HEAD~1');
  expect(await uwf([...run, '--from', hostile])).toMatchObject({ code: 0 });
  expect(readFileSync(mark, 'utf8')).toBe('agreed\n');
});

test("the agent's script of the main work tree runs, whatever the base of a thread has under its name", async () => {
  const { dir, git, uwf } = await trusted();
  const ran = `${dir}-hostile`;
  const script = readFileSync(join(dir, 'one.sh'), 'utf8');
  writeFileSync(join(dir, 'one.sh'), `touch '${ran}'\n${script}`);
  git('commit', '-qam', 'hostile');
  const hostile = git('rev-parse', 'HEAD');
  git('reset', '-q', '--hard', 'HEAD~1');
  expect(await uwf([...run, '--from', hostile])).toMatchObject({ code: 0 });
  expect(existsSync(ran)).toBe(false);
});
