import type { EngineOptions } from '../../engine/engine-context.ts';
import { createEngine, type Engine } from '../../engine/engine.ts';
import type { Repository } from '../../git/repository.ts';
import { ask, askKey, askLine } from '../ask/ask.ts';
import type { RunView } from '../follow/run-view.ts';
import { redactedLine } from '../output/findings.ts';
import { canAsk, type CliEnvironment, rootWatched } from '../process/cli-environment.ts';
import { trustGate } from '../trust/gate.ts';
import { machineKey, workTreesHere } from './open-repository.ts';
import { configHere, redactorHere } from './open-config.ts';

/** The variable by which a background process learns which lease its parent took for it. */
export const ADOPT_LEASE = 'UWF_ADOPT_LEASE';

/** The engine of a command that works on threads: this machine's configuration, this person's terminal and signals. */
export async function openEngine(cli: CliEnvironment, repository: Repository, view?: RunView): Promise<Engine> {
  const options = await engineOptions(cli, repository, view);
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
    redactor: config.redact?.isOff === true ? null : redactorHere(cli, repository, config),
    onEvent: (event) => {
      if (view) view.tell(event);
      else if (event.event === 'secrets.redacted') cli.stderr.write(`uwf: ${redactedLine(event.rules)}\n`);
    },
    admit: trustGate(cli, repository, config, view),
    ...(canAsk(cli) && {
      askPerson: async (question, { keys, isLine, signal } = {}) => {
        const asking = (): Promise<string> => {
          if (keys !== undefined) return askKey(cli, question, keys, signal);
          return isLine ? askLine(cli, question, signal) : ask(cli, question, signal);
        };
        const answer = asked.then(() => (view ? view.whileAsking(asking) : asking()));
        asked = answer.catch(() => undefined);
        return answer;
      },
    }),
  };
}
