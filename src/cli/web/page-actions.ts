import { Readable } from 'node:stream';
import type { Engine } from '../../engine/engine.ts';
import { limitOptions } from '../../engine/limits/limits.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { assertSeen, forkBehind } from '../../web/engine-actions.ts';
import type { SeenThread, WebActions } from '../../web/site.ts';
import { resolveWorkflow } from '../../workflow/load/resolve-workflow.ts';
import { openEngine } from '../open/open-engine.ts';
import { withCommitter } from '../open/open-repository.ts';
import { redactionHere } from '../open/open-config.ts';
import { startInBackground } from '../process/background.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** What the page does, in the way of the commands: what runs an agent goes on in a process of its own. */
export function pageActions(atTerminal: CliEnvironment, opened: Repository): WebActions {
  // Trust is never given on the page, nor by a question at the terminal of the server, which no person watches.
  const cli: CliEnvironment = Object.create(atTerminal, { stdin: { value: Readable.from([]) } });
  /** The page itself commits nothing, and starts without asking git who the user is. */
  const here = (): Promise<Repository> => withCommitter(cli, opened);
  const openHere = async (): Promise<Engine> => openEngine(cli, await here());

  /** Runs a command in a process of its own, with words of the person as its input. */
  const runApart = async (
    thread: ThreadId,
    argv: readonly string[],
    words?: string,
    seen?: ObjectId,
    others?: readonly SeenThread[],
  ): Promise<void> => {
    const repository = await here();
    // It lies in a file until the process has read it.
    const input = words && (await redactionHere(cli, repository)).text(words);
    const file = words === undefined ? [] : ['--file', '-'];
    const assertStill = (): Promise<void> =>
      seen === undefined ? Promise.resolve() : assertSeen(repository, { id: thread, head: seen }, others);
    await startInBackground(cli, repository, thread, [...argv, ...file], input, assertStill);
  };

  return {
    async resume(thread, { answer, more }, seen, others) {
      await (await openHere()).checkResume(thread, { answer, more });
      const limits = limitOptions.flatMap(([name, option]) =>
        more?.[name] === undefined ? [] : [`--${option}=${more[name]}`],
      );
      await runApart(thread, ['thread', 'resume', thread, ...limits], answer, seen, others);
    },
    async poke(thread, word, seen) {
      await (await openHere()).checkRun(thread);
      await runApart(thread, ['thread', 'poke', thread], word, seen);
    },
    fork: async (thread, step) => forkBehind(await here(), thread, step),
    ask: async (thread, question, step) => (await openHere()).ask(thread, question, { step }),
    cancel: async (thread, reason) => void (await (await openHere()).cancel(thread, { reason })),
    stop: async (thread) => void (await (await openHere()).stop(thread)),
    async start(workflow, prompt) {
      // Names mean what the page lists: the files of the work tree's top.
      const cwd = opened.location?.workTree ?? cli.cwd;
      const { definition } = await resolveWorkflow(opened, workflow, { cwd });
      const { thread } = await (await openHere()).start({ definition, prompt, requireAgents: true });
      await runApart(thread, ['thread', 'run', thread]);
      return thread;
    },
  };
}
