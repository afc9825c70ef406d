import type { Engine } from '../engine/engine.ts';
import type { ThreadView } from '../engine/describe.ts';
import type { Repository } from '../git/repository.ts';
import type { Limits } from '../workflow/definition.ts';
import { resolveWorkflow } from '../workflow/resolve-workflow.ts';
import type { CliContext } from './context.ts';

/**
 * Starts a thread of the workflow that a command line names. A person is asked for the prompt only when there is such a
 * workflow.
 */
export async function startHere(
  cli: CliContext,
  repository: Repository,
  engine: Engine,
  request: { workflow: string; prompt: () => Promise<string>; limits: Limits | undefined; requireAgents: boolean },
): Promise<ThreadView> {
  const { definition } = await resolveWorkflow(repository, request.workflow, { cwd: cli.cwd });
  return engine.start({
    definition,
    prompt: await request.prompt(),
    requireAgents: request.requireAgents,
    ...(request.limits && { limits: request.limits }),
  });
}
