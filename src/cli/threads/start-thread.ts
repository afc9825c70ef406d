import { promptFrom, promptOptions } from '../command-line/read-text.ts';
import { parseCount, parseDuration } from '../command-line/parse-value.ts';
import type { ParsedOption } from '../command-line/command.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ThreadView } from '../../engine/describe/describe.ts';
import type { Repository } from '../../git/repository.ts';
import type { Limits } from '../../workflow/definition.ts';
import { resolveWorkflow } from '../../workflow/load/resolve-workflow.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/**
 * Starts a thread of the workflow that a command line names. A person is asked for the prompt only when there is such a
 * workflow.
 */
export async function startHere(
  cli: CliEnvironment,
  repository: Repository,
  engine: Engine,
  { workflow, options, requireAgents }: { workflow: string; options: StartValues; requireAgents: boolean },
): Promise<ThreadView> {
  const { definition } = await resolveWorkflow(repository, workflow, { cwd: cli.cwd });
  const limits = limitsOf(options);
  return engine.start({ definition, prompt: await promptFrom(cli, options), requireAgents, ...(limits && { limits }) });
}

type LimitOption = 'limit' | 'timeout' | 'idle-timeout';

type StartValues = Record<'prompt' | 'file', string | undefined> & Record<LimitOption, number | undefined>;

/** The options of commands that start a thread. */
export const startOptions: typeof promptOptions & Record<LimitOption, ParsedOption<number>> = {
  ...promptOptions,
  limit: { value: '<n>', summary: 'suspend the thread after this many steps', parse: parseCount },
  timeout: { value: '<span>', summary: 'suspend it when one turn takes longer: 30s, 5min', parse: parseDuration },
  'idle-timeout': {
    value: '<span>',
    summary: 'suspend it when an agent gives no sign of life for so long',
    parse: parseDuration,
  },
};

/** The limits that a command line sets for a thread; `undefined` if none. */
function limitsOf(options: Record<LimitOption, number | undefined>): Limits | undefined {
  const limits: Limits = {
    ...(options.limit !== undefined && { maxSteps: options.limit }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
    ...(options['idle-timeout'] !== undefined && { idleTimeoutMs: options['idle-timeout'] }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}
