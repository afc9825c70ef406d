import type { EngineOptions } from '../../../src/engine/engine-context.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import type { BlockDefinition, WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { scenario, type Scenario, type ScenarioOptions } from '../../helpers/scenario.ts';
import { createFixture, reply, scripted, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';
import { rulesOf } from '../../helpers/plot.ts';

/** A child workflow of one role, which ends as its `$status` says. */
const review: WorkflowDefinition = workflow('review', { reader: statuses('good', 'bad') }, [
  'reader [good] > end',
  'reader > end = 1',
]);

export type Block = Omit<BlockDefinition, 'schema'>;

/** A workflow of a planner, a block, and a closer. */
export async function withBlock(block: Block, { name = 'whole' }: { name?: string } = {}): Promise<WorkflowDefinition> {
  const { definition, diagnostics } = await validateWorkflow({
    name,
    roles: {
      planner: { schema: {} },
      ...(JSON.stringify(block).includes('checker') && { checker: { schema: statuses('good', 'bad') } }),
      closer: { schema: {} },
    },
    blocks: { work: { isolation: 'shared', ...block } },
    moderator: rulesOf(['planner > work: Do all of it.', 'work > closer: {{ order | join: "," }}', 'closer > end']),
  });
  if (definition === undefined) throw new Error(JSON.stringify(diagnostics));
  return definition;
}

type BlockOptions = ScenarioOptions & { phases?: unknown[]; limits?: WorkflowDefinition['limits'] };

/** A thread of a workflow with a block, whose planner reports a list of phases, and whose reader answers as it is asked. */
export async function startBlock(
  block: Block,
  { phases = [], limits, others = [], agents = {}, ...more }: BlockOptions = {},
): Promise<Scenario> {
  const reader = { program: READER };
  return scenario({
    definition: { ...(await withBlock(block)), ...(limits && { limits }) },
    agents: {
      planner: [`---\nphases: ${JSON.stringify(phases)}\n---\nA plan.\n`],
      closer: ['done: Done.'],
      reader,
      checker: reader,
      ...agents,
    },
    others: [review, ...others],
    prompt: 'Go.',
    ...more,
  });
}

/** An engine whose planner reports a list of phases, and whose reader answers as the branches' prompts ask. */
export async function createBlockFixture(
  { phases = [], config = {} }: { phases?: unknown[]; config?: Partial<Config> } = {},
  others: readonly WorkflowDefinition[] = [],
  options: Partial<EngineOptions> = {},
): Promise<EngineFixture> {
  const script: Config = {
    ...scripted({ planner: [`---\nphases: ${JSON.stringify(phases)}\n---\nA plan.\n`], closer: [reply('done')] }),
    ...config,
  };
  script.agents['reader'] ??= { name: 'reader', package: 'builtin:command', config: { argv: ['sh', '-c', READER] } };
  script.roles['reader'] ??= 'reader';
  script.roles['checker'] ??= 'reader';
  const known = [review, ...others];
  return createFixture(script, {
    ...options,
    resolveWorkflow: (name) => {
      const found = known.find((each) => each.name === name);
      return found ? Promise.resolve(found) : Promise.reject(new Error(`no ${name}`));
    },
  });
}

/**
 * Reports `bad` where its prompt says so, fails where it says DOWN until there is a file `up`, and asks a person where it says ASK until
 * it is told the answer. Only as words: the prompt has ids of threads and hashes of nodes, which can have BAD and ASK in them.
 */
const READER = `prompt=$(cat)
case "$prompt" in *DOWN*) test -e up || exit 1;; esac
case "$prompt" in
  *'the answer'*) ;;
  *[!0-9A-Z]ASK[!0-9A-Z]*) printf -- '---\\n$status: $SUSPEND\\nreason: what now?\\n---\\n'; exit 0;;
esac
case "$prompt" in *[!0-9A-Z]BAD[!0-9A-Z]*) status=bad;; *) status=good;; esac
printf -- '---\\n$status: %s\\n---\\n%s\\n' $status "It is $status."`;
