import { prepareHashing } from '../../src/cas/hash.ts';
import type { Config } from '../../src/engine/config/config.ts';
import { createEngine } from '../../src/engine/engine.ts';
import { LeaseHeld } from '../../src/engine/leases/lease.ts';
import { openRepository } from '../../src/git/open-repository.ts';

/**
 * Does steps in thread after thread, round and round, beside others who do so in the same threads.
 *
 * Arguments: the repository's folder, a name for this process, how many steps it is to do, the threads. Says
 * `<thread> <head>` for each step when it is done. A thread that somebody else works on is passed by; whatever else goes
 * wrong ends it, with an exit code of 1 and the reason on stderr.
 */
const [dir = '', worker = '', count = '0', ...threads] = process.argv.slice(2);

/** More than any one thread sees. */
const visits = 200;

/** The text names its process and visit: no two are the same blob. */
const replies = Array.from({ length: visits }, (_, visit) => ({
  put: [`${worker} put this at visit ${visit}: ${'x'.repeat(1000)}`],
  reply: `---\n$status: more\n---\n${worker} was here at visit ${visit}, and left {{ put[0] }}.\n`,
}));

const config: Config = {
  agents: { script: { name: 'script', package: 'builtin:scripted', config: { replies: { writer: replies } } } },
  defaultAgent: 'script',
  roles: {},
};

await prepareHashing();
const repository = await openRepository(dir, {
  committer: { name: 'C O Mitter', email: 'committer@example.com' },
});
const engine = createEngine({ repository, config, env: { PATH: process.env['PATH'] } });
for (let done = 0, at = 0; done < Number(count); at += 1) {
  const thread = threads[at % threads.length] ?? '';
  try {
    const { step, head } = await engine.step(thread);
    if (step === null) throw new Error(`${thread} did no step`);
    process.stdout.write(`${thread} ${head}\n`);
    done += 1;
  } catch (error) {
    if (!(error instanceof LeaseHeld)) throw error;
  }
}
await repository.close();
