import { parseObjectId, type ObjectId } from '../../src/git/format/object-id.ts';
import { parseThreadId, type ThreadId } from '../../src/thread/thread-id.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, runGit } from '../helpers/temporary-repository.ts';

/** A thread that was just started and pushed: the folders of the bare repository `origin` and of the clone, and its head. */
export async function pushThread(): Promise<{ host: string; dir: string; thread: ThreadId; head: ObjectId }> {
  const host = createTemporaryFolder();
  runGit(host, ['init', '-q', '--bare', '.']);
  const { dir, json } = createLoopRepository();
  const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  const head = parseObjectId(runGit(dir, ['rev-parse', `refs/threads/${thread}`]).trim());
  runGit(dir, ['remote', 'add', 'origin', host]);
  runGit(dir, ['push', '-q', 'origin', `refs/threads/${thread}`]);
  return { host, dir, thread: parseThreadId(thread), head };
}
