import type { Admit } from '../engine/agent-use.ts';
import type { Config } from '../engine/config.ts';
import { createContext, type EngineContext, type EngineOptions } from '../engine/context.ts';
import type { Engine } from '../engine/engine.ts';
import type { Repository } from '../git/repository.ts';
import { configHere } from './config-here.ts';
import type { CliContext } from './context.ts';
import { canAsk } from './input/can-ask.ts';
import type { RunView } from './output/run-view.ts';
import { machineKey } from './machine-key.ts';
import { redactedLine } from './output/redacted-line.ts';
import { redactorHere } from './redactor-here.ts';

/** How the parent of a background run names the lease that it took for it. */
export const ADOPT_LEASE = 'UWF_ADOPT_LEASE';

/** What looking at threads needs: no agents, mostly no configuration, and so none of the modules that run them. */
export function readingContext(repository: Repository, config: Config = { agents: {}, roles: {} }): EngineContext {
  return createContext({ repository, config }, () =>
    Promise.reject(new Error('a command that only looks runs no child thread')),
  );
}

/**
 * The engine of a command that works on threads: this machine's configuration, this person's terminal and signals.
 *
 * @param view is told what happens; absent where nothing runs
 */
export async function openEngine(cli: CliContext, repository: Repository, view?: RunView): Promise<Engine> {
  const [{ createEngine }, config] = await Promise.all([import('../engine/engine.ts'), configHere(cli, repository)]);
  const people = Object.entries(config.agents).filter(([, agent]) => agent.package === 'builtin:human');
  view?.leaveTerminalTo(people.map(([name]) => name));
  const options: EngineOptions = {
    repository,
    config,
    env: { ...cli.env, [ADOPT_LEASE]: undefined },
    signal: cli.signal,
    sealKey: () => machineKey(cli.env, 'kept.key'),
    redactor: config.redact?.isOff === true ? null : await redactorHere(cli, repository, config),
    onEvent: (event) => {
      if (view) view.tell(event);
      else if (event.event === 'secrets.redacted') cli.stderr.write(`uwf: ${redactedLine(event.rules)}\n`);
    },
    admit: lazyGate(cli, repository, config, view),
    ...(canAsk(cli) && {
      askPerson: async (question, { keys, isLine, signal } = {}) => {
        const asking = async (): Promise<string> => {
          if (keys !== undefined) return (await import('./input/ask-key.ts')).askKey(cli, question, keys, signal);
          if (isLine) return (await import('./input/ask-line.ts')).askLine(cli, question, signal);
          return (await import('./input/ask.ts')).ask(cli, question, signal);
        };
        return view ? view.whileAsking(asking) : asking();
      },
    }),
  };
  return createEngine(options);
}

/**
 * Lets agents run that this person trusts. What decides over it is loaded when an agent is to run.
 * @param view is held while the person is asked
 */
export function lazyGate(cli: CliContext, repository: Repository, config: Config, view?: RunView): Admit {
  let gate: Promise<Admit> | undefined;
  return async (uses) => {
    gate ??= import('./trust/gate.ts').then(({ trustGate }) => trustGate(cli, repository, config, view));
    await (
      await gate
    )(uses);
  };
}
