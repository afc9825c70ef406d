// Works the lookup of a repository out again and again until it is killed.
import { reindex } from '../../src/cas/lookup.ts';
import { openRepository } from '../../src/git/open-repository.ts';

const repository = await openRepository(process.argv[2] ?? '.', { env: process.env });
process.stdout.write('ready\n');
for (;;) await reindex(repository);
