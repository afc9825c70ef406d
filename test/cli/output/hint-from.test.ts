import { expect, test } from 'vitest';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { runCommand } from '../../helpers/cli.ts';
import { hintFrom } from '../../../src/cli/output/output.ts';

test('the commands of a hint name the folder of -C again', () => {
  const hint = "run 'uwf trust c' or 'uwf trust --all'; uwf itself is not 'uwf'";
  expect(hintFrom({}, hint)).toBe(hint);
  expect(hintFrom({ givenFolder: '/some/where' }, hint)).toBe(
    "run 'uwf -C /some/where trust c' or 'uwf -C /some/where trust --all'; uwf itself is not 'uwf'",
  );
  expect(hintFrom({ givenFolder: "/it's $1" }, "'uwf log x'")).toBe(String.raw`'uwf -C '/it'\''s $1' log x'`);
});

test('errors and notes of a command with -C do', async () => {
  const { dir } = createTemporaryRepository();
  const failed = await runCommand(['-C', dir, 'thread', 'show', '01ARZ3NDEKTSV4RRFFQ69G5FAV']);
  expect(failed.stderr).toContain(`'uwf -C ${dir} thread list`);
  const json = await runCommand(['-C', dir, 'thread', 'show', '01ARZ3NDEKTSV4RRFFQ69G5FAV', '--json']);
  expect(JSON.parse(json.stderr).error.hint).toContain(`'uwf -C ${dir} thread list`);
  expect((await runCommand(['-C', dir, 'thread', 'list'])).stderr).toContain(`'uwf -C ${dir} thread list --all'`);
});
