import { openRepository } from '../../src/git/open-repository.ts';
import { takeSnapshot } from '../../src/git/worktree/snapshot.ts';

// Takes a snapshot of the work tree that is the argument, with this process's environment, and says what is missing in it, as JSON.
const [dir = ''] = process.argv.slice(2);
const repository = await openRepository(dir);
const { location } = repository;
if (!location) throw new Error('the repository is on a disk');
const limits = { maxBytes: 1024 * 1024, timeoutMs: 60_000 };
const { missing, release } = await takeSnapshot(repository, { location, env: process.env, limits });
release();
await repository.close();
process.stdout.write(JSON.stringify({ missing }));
