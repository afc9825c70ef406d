import { openRepository } from '../../src/git/open-repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';

/**
 * Run in a process of its own: `<repository> <url>`. Fetches all threads, takes over those whose commit has come, makes
 * refs of them, and prints their names as JSON.
 */
const [dir = '.', url = ''] = process.argv.slice(2);
const env = process.env;
const repository = await openRepository(dir, { env });
const remote = await openRemote(repository, url, { env });
const incoming = await remote.fetch({ refs: ['refs/threads/*'] });
const come: { name: string; id: ObjectId }[] = [];
for (const told of incoming.refs) if (await incoming.objects.has(told.id)) come.push(told);
const guard = await incoming.accept(come.map(({ id }) => id));
await repository.refs.update(come.map(({ name, id }) => ({ name: parseRefName(name), expected: null, value: id })));
await guard.release();
await incoming.discard();
await repository.close();
process.stdout.write(
  JSON.stringify({ told: incoming.refs.map(({ name }) => name), taken: come.map(({ name }) => name) }),
);
