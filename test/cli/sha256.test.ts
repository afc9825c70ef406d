import { expect, test } from 'vitest';
import { createLoopRepository, loopReplies } from '../helpers/cli.ts';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';

const oid = /^[0-9a-f]{64}$/;

test('a workflow runs, and its thread is read, forked, checked and removed, in a repository of sha256 objects', async () => {
  const { dir, git, uwf, json, lines } = createLoopRepository(loopReplies, { objectFormat: 'sha256' });
  const succeed = async (...argv: string[]): Promise<void> => expect(await uwf(argv)).toMatchObject({ code: 0 });
  const events = await lines(['run', 'loop', '-p', 'Write something']);
  const ended = events.at(-1) ?? {};
  expect(ended).toMatchObject({ event: 'thread.ended', status: 'ended', head: expect.stringMatching(oid) });
  const thread = String(ended['thread']);

  const log = await uwf(['log', thread, '--oneline']);
  expect(log.stdout.match(/(?:writer|checker) /g)).toHaveLength(4);
  expect(await json(['thread', 'show', thread])).toMatchObject({ status: 'ended', head: ended['head'] });
  const { nodes } = (await json(['reindex'])) as { nodes: number };
  expect(nodes).toBeGreaterThan(20);
  const steps = (await json(['step', 'list', thread])) as { step: string }[];
  await succeed('step', 'show', steps[1]!.step);
  await succeed('cas', 'get', steps[1]!.step);

  const fork = (await json(['thread', 'fork', thread, '--at', steps[1]!.step])) as { thread: string };
  await succeed('cas', 'put', 'A note.', '--thread', fork.thread);
  await succeed('thread', 'run', fork.thread);
  await succeed('thread', 'verify', thread);
  await succeed('thread', 'verify', fork.thread);
  await succeed('fsck');
  expectCleanFsck(dir);

  git('gc', '--quiet', '--prune=now');
  await succeed('gc');
  await succeed('thread', 'verify', thread);
  await succeed('thread', 'verify', fork.thread);
  await succeed('thread', 'rm', fork.thread, '--force');
  expectCleanFsck(dir);
});
