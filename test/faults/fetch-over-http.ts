import { openHttpRemote } from '../../src/git/http/open-http-remote.ts';
import { ObjectTooLarge } from '../../src/git/object-errors.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { readCommit, readTree } from '../../src/git/read.ts';
import { parseRefName } from '../../src/git/ref-name.ts';

/** Fetches all threads, accepts those whose files can be read, and says what became of each and how much memory it took. */
const [dir = '', url = ''] = process.argv.slice(2);
const repository = await openRepository(dir);
const remote = openHttpRemote(repository, { name: 'origin', url, isConfigured: true });
const incoming = await remote.fetch({ refs: ['refs/threads/*'] });
const outcomes: Record<string, string> = {};
const sound = [];
for (const ref of incoming.refs) {
  try {
    const { tree } = await readCommit(incoming.objects, ref.id);
    for (const { id } of await readTree(incoming.objects, tree)) {
      if ((await incoming.objects.read(id)) === undefined) throw new Error('missing');
    }
    sound.push(ref);
    outcomes[ref.name] = 'sound';
  } catch (error) {
    outcomes[ref.name] = error instanceof ObjectTooLarge ? 'too large' : 'missing';
  }
}
const guard = await incoming.accept(sound.map(({ id }) => id));
await repository.refs.update(sound.map(({ name, id }) => ({ name: parseRefName(name), expected: null, value: id })));
await guard.release();
await incoming.discard();
process.stdout.write(JSON.stringify({ outcomes, maxRssMiB: Math.round(process.resourceUsage().maxRSS / 1024) }));
