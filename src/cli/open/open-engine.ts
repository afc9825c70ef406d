import type { Config } from '../../engine/config/config.ts';
import type { Admit, EngineOptions } from '../../engine/engine-context.ts';
import type { Engine } from '../../engine/engine.ts';
import type { Repository } from '../../git/repository.ts';
import type { RunView } from '../follow/run-view.ts';
import { redactedLine } from '../output/findings.ts';
import { canAsk, type CliEnvironment, rootWatched } from '../process/cli-environment.ts';
import { machineKey, workTreesHere } from './open-repository.ts';
import { configHere, redactorHere } from './open-config.ts';

/** The variable by which a background process learns which lease its parent took for it. */
export const ADOPT_LEASE = 'UWF_ADOPT_LEASE';

/**
 * The engine of a command that works on threads: this machine's configuration, this person's terminal and signals.
 *
 * @param view is told what happens; absent where nothing runs
 */
export async function openEngine(cli: CliEnvironment, repository: Repository, view?: RunView): Promise<Engine> {
  const [{ createEngine }, options] = await Promise.all([
    import('../../engine/engine.ts'),
    engineOptions(cli, repository, view),
  ]);
  const { signal } = cli;
  await rootWatched();
  return createEngine({ ...options, signal });
}

/** The options of the engine of a command, but for the signal that ends it. */
export async function engineOptions(
  cli: CliEnvironment,
  repository: Repository,
  view?: RunView,
): Promise<Omit<EngineOptions, 'signal'>> {
  const config = await configHere(cli, repository);
  let sealKey: Uint8Array | undefined;
  // Branches of a block may ask at once.
  let asked: Promise<unknown> = Promise.resolve();
  return {
    repository,
    config,
    env: { ...cli.env, [ADOPT_LEASE]: undefined },
    workTrees: workTreesHere(cli.env),
    sealKey: () => (sealKey ??= machineKey(cli.env, 'kept.key')),
    redactor: config.redact?.isOff === true ? null : await redactorHere(cli, repository, config),
    onEvent: (event) => {
      if (view) view.tell(event);
      else if (event.event === 'secrets.redacted') cli.stderr.write(`uwf: ${redactedLine(event.rules)}\n`);
    },
    admit: lazyGate(cli, repository, config, view),
    ...(canAsk(cli) && {
      askPerson: async (question, { keys, isLine, signal } = {}) => {
        const asking = async (): Promise<string> => {
          if (keys !== undefined) return (await import('../ask/ask.ts')).askKey(cli, question, keys, signal);
          if (isLine) return (await import('../ask/ask.ts')).askLine(cli, question, signal);
          return (await import('../ask/ask.ts')).ask(cli, question, signal);
        };
        const answer = asked.then(() => (view ? view.whileAsking(asking) : asking()));
        asked = answer.catch(() => undefined);
        return answer;
      },
    }),
  };
}

/**
 * Lets only trusted agents run. The gate is loaded when the first agent is to run.
 * @param view draws nothing while the person is asked
 */
export function lazyGate(cli: CliEnvironment, repository: Repository, config: Config, view?: RunView): Admit {
  let gate: Promise<Admit> | undefined;
  return async (uses) => {
    gate ??= import('../trust/gate.ts').then(({ trustGate }) => trustGate(cli, repository, config, view));
    await (
      await gate
    )(uses);
  };
}
