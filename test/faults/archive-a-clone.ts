import { readingContext } from '../../src/engine/engine-context.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { pushThreads } from '../../src/sync/push-threads.ts';
import { archiveThreads } from '../../src/thread/archive-threads.ts';
import { listPointers } from '../../src/thread/find-thread.ts';

/**
 * Archives all ended threads of a clone and pushes, as commands of their own would.
 *
 * Argument: the clone. Prints `done` when all of it is done.
 */
const [dir = ''] = process.argv.slice(2);
const repository = await openRepository(dir);
const remote = await openRemote(repository, 'origin', { env: process.env });
const context = readingContext(repository);
await archiveThreads(repository, await listPointers(repository, { history: true }));
await pushThreads(context, remote);
process.stdout.write('done\n');
await repository.close();
