import { afterEach, expect, test, vi } from 'vitest';
import { createCliRepository, type CliRepository } from '../../helpers/cli.ts';
import { runGit } from '../../helpers/temporary-repository.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { suspendThread } from '../../../src/thread/thread-verbs.ts';
import { agent, startLoop } from '../../thread/thread-fixture.ts';

const count = 1100;

/** Very many threads on one commit, and one among them that waits. */
async function manyThreads(): Promise<{ repository: CliRepository; waiting: string }> {
  const repository = createCliRepository({});
  const { dir } = repository;
  const opened = await openRepository(dir);
  const { id, head } = await startLoop(opened);
  const state = await startLoop(opened, { prompt: 'Wait.' });
  const turn = { role: 'writer', prompt: 'You are the writer.', attempts: [], agent, rule: 0, usage: null };
  await suspendThread(opened, state, { ...turn, reason: 'Which language?', cause: 'agent' });
  await opened.close();
  const ids = Array.from({ length: count }, (_, at) => `01KTWEWZ76${at.toString().padStart(16, '0')}`);
  const edits = ids.map((each) => `create refs/threads/${each} ${head.id}\n`);
  runGit(dir, ['update-ref', '--stdin'], [...edits, `delete refs/threads/${id}\n`].join(''));
  return { repository, waiting: state.id };
}

afterEach(() => {
  vi.restoreAllMocks();
});

test('a long list is printed as it is read in a pipe, and in its own order elsewhere', async () => {
  const { repository, waiting } = await manyThreads();
  const { stdout } = await repository.uwf(['thread', 'list']);
  const [title = '', ...rows] = stdout.trimEnd().split('\n');
  const listed = rows.map((row) => row.slice(0, 26));
  expect(listed).toHaveLength(count + 1);
  expect(listed).toEqual(listed.toSorted().toReversed());
  expect(new Set(rows.map((row) => row.indexOf('idle')))).toEqual(new Set([title.indexOf('STATUS'), -1]));
  expect(rows.filter((row) => row.includes('Which language?'))).toHaveLength(1);

  const json = (await repository.json(['thread', 'list'])) as { thread: string }[];
  const ids = json.map(({ thread }) => thread);
  expect(ids).toEqual([waiting, ...listed.filter((id) => id !== waiting)]);
  const terminal = await repository.uwf(['thread', 'list'], { isTTY: true, columns: 200, env: { NO_COLOR: '1' } });
  const shown = terminal.stdout.trimEnd().split('\n');
  expect(shown).toHaveLength(count + 2);
  expect(shown[1]).toContain('suspended');
});

test('a list that takes long says on a terminal how many threads it has looked at', async () => {
  const { repository } = await manyThreads();
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 200));
  const { stderr } = await repository.uwf(['thread', 'list', '--status', 'failed'], { isTTY: true, columns: 200 });
  expect(stderr).toContain('reading threads: 1,024');
  expect(stderr.endsWith('no thread is like that\n')).toBe(true);
  const { stderr: piped } = await repository.uwf(['thread', 'list', '--json']);
  expect(piped).toBe('');
});
