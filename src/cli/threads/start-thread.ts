import { promptFrom, promptOptions } from '../command-line/read-text.ts';
import {
  type OptionSpec,
  parseCount,
  type ParsedOption,
  parseTimeLimit,
  type TextOption,
} from '../command-line/command.ts';
import { UsageError } from '../errors/exit-code.ts';
import type { StartOptions } from '../../engine/verbs/start.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ThreadView } from '../../engine/describe/describe.ts';
import type { Repository } from '../../git/repository.ts';
import type { Limits } from '../../workflow/definition.ts';
import { resolveWorkflow } from '../../workflow/load/resolve-workflow.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

/** Starts a thread of the workflow that a command line names. A person is asked for the prompt only if there is such a one. */
export async function startHere(
  cli: CliEnvironment,
  repository: Repository,
  engine: Engine,
  { workflow, options, requireAgents }: { workflow: string; options: StartValues; requireAgents: boolean },
): Promise<ThreadView> {
  const { definition } = await resolveWorkflow(repository, workflow, { cwd: cli.cwd });
  const limits = limitsOf(options);
  const base = await baseOf(cli, repository, options);
  const prompt = await promptFrom(cli, options);
  return engine.start({ definition, prompt, requireAgents, ...(limits && { limits }), ...(base && { base }) });
}

/** The commit for a work tree of the thread's own; `undefined` where none is asked for. */
async function baseOf(
  cli: CliEnvironment,
  { location }: Repository,
  options: IsolationValues,
): Promise<StartOptions['base']> {
  const { from, isolate, 'with-changes': withChanges } = options;
  if (from !== undefined && withChanges) {
    throw new UsageError(
      "'--from' and '--with-changes' exclude each other",
      'changes belong to what is checked out here',
    );
  }
  if (withChanges) return 'changes';
  if (from === undefined) return isolate ? 'head' : undefined;
  const { resolveRevision } = await import('../../git/process/revisions.ts');
  const revision = location && (await resolveRevision({ location, env: cli.env }, from));
  if (revision?.kind === 'commit') return revision.oid;
  throw new UsageError(`'${from}' is no commit here`, "'--from' takes a revision: main, HEAD~2, v1.0");
}

type LimitOption = 'limit' | 'timeout' | 'idle-timeout';

type IsolationValues = { isolate: boolean; 'with-changes': boolean; from: string | undefined };

export type StartValues = Record<'prompt' | 'file', string | undefined> &
  Record<LimitOption, number | undefined> &
  IsolationValues;

const isolationOptions: Record<'isolate' | 'with-changes', OptionSpec> & { from: TextOption } = {
  isolate: { summary: "let its agents work in a work tree of the thread's own, on a branch of its own" },
  from: { value: '<rev>', summary: 'the same, from this revision instead of what is checked out' },
  'with-changes': { summary: 'the same, from what is checked out with what is not committed' },
};

export const startOptions: typeof promptOptions & Record<LimitOption, ParsedOption<number>> & typeof isolationOptions =
  {
    ...promptOptions,
    ...isolationOptions,
    limit: { value: '<n>', summary: 'suspend the thread after this many steps', parse: parseCount },
    timeout: { value: '<span>', summary: 'suspend it when one turn takes longer: 30s, 5min', parse: parseTimeLimit },
    'idle-timeout': {
      value: '<span>',
      summary: 'suspend it when an agent gives no sign of life for so long',
      parse: parseTimeLimit,
    },
  };

function limitsOf(options: Record<LimitOption, number | undefined>): Limits | undefined {
  const limits: Limits = {
    ...(options.limit !== undefined && { maxSteps: options.limit }),
    ...(options.timeout !== undefined && { timeoutMs: options.timeout }),
    ...(options['idle-timeout'] !== undefined && { idleTimeoutMs: options['idle-timeout'] }),
  };
  return Object.keys(limits).length === 0 ? undefined : limits;
}
