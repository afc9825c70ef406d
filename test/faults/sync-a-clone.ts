import { readingContext } from '../../src/engine/engine-context.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { syncThreads } from '../../src/sync/push-threads.ts';

/**
 * Syncs a clone with its remote, as a command of its own would.
 *
 * Argument: the clone. Prints `done` when all of it is done.
 */
const [dir = ''] = process.argv.slice(2);
const repository = await openRepository(dir);
const remote = await openRemote(repository, 'origin', { env: process.env });
const context = readingContext(repository);
await syncThreads(context, remote);
process.stdout.write('done\n');
await repository.close();
