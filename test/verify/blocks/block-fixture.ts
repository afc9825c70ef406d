import type { JsonObject } from '../../../src/json.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { createFixture, reply, scripted, statuses, type EngineFixture } from '../../engine/engine-fixture.ts';

const role = (schema: JsonObject = statuses('done')): JsonObject => ({
  description: 'works',
  systemPrompt: 'Work.',
  schema,
});
const straight = (...places: string[]): JsonObject[] =>
  ['__start__', ...places].map((from, at) => ({ from, to: places[at] ?? '__end__', when: null }));

/** A definition as a file has it. */
export async function definitionOf(file: JsonObject): Promise<WorkflowDefinition> {
  const { definition, diagnostics } = await validateWorkflow({ description: '', ...file });
  if (definition === undefined) throw new Error(JSON.stringify(diagnostics));
  return definition;
}

const plan = {
  type: 'object',
  properties: {
    phases: {
      type: 'array',
      items: { type: 'object', properties: { id: { type: 'string' }, title: { type: 'string' } } },
    },
  },
  required: ['phases'],
};

/** Workflows that branches run: one step, one that fails, and one with a block of its own. */
const called: JsonObject[] = [
  { name: 'twin', roles: { worker: role() }, moderator: straight('worker') },
  { name: 'small', roles: { worker: role() }, moderator: straight('worker') },
  {
    name: 'failing',
    roles: { worker: role() },
    moderator: [
      { from: '__start__', to: 'worker', when: null },
      { from: 'worker', to: '__end__', when: null, returnCode: 3, prompt: 'It did not work.' },
    ],
  },
  {
    name: 'nested',
    roles: { worker: role() },
    blocks: {
      inner: { branches: { x: { role: 'worker' }, y: { workflow: 'small' } }, isolation: 'shared', join: 'all' },
    },
    moderator: straight('inner', 'worker'),
  },
];

/** A workflow with a block of each join. */
const team: JsonObject = {
  name: 'team',
  roles: { planner: role(plan), reviewer: role(), closer: role() },
  blocks: {
    reviews: {
      branches: {
        security: { role: 'reviewer', prompt: 'Look for holes of {{ phases.size }} phases, {{ key }}.' },
        style: { role: 'reviewer' },
        deep: { workflow: 'nested' },
      },
      isolation: 'shared',
      join: 'all',
    },
    race: {
      branches: { a: { workflow: 'failing' }, b: { workflow: 'small' }, c: { role: 'reviewer' } },
      isolation: 'shared',
      join: 'any',
    },
    quorum: {
      branches: { a: { workflow: 'failing' }, b: { workflow: 'failing' }, c: { workflow: 'small' } },
      isolation: 'shared',
      join: { atLeast: 2 },
      onFailure: 'cancel',
    },
    vote: {
      branches: {
        a: { role: 'reviewer' },
        b: { workflow: 'failing' },
        c: { role: 'reviewer' },
        d: { workflow: 'twin' },
      },
      isolation: 'shared',
      join: "$count($branches[status = 'done']) >= 2 ? 'agreed'",
    },
    build: {
      each: {
        over: "$last('planner').phases",
        as: 'phase',
        key: 'phase.id',
        workflow: 'small',
        prompt: '{{ phase.title }} after {{ steps.size }} steps',
        atOnce: 2,
      },
      isolation: 'shared',
      join: 'all',
    },
    none: { each: { over: '[]', as: 'phase', key: 'phase.id', workflow: 'small' }, isolation: 'shared', join: 'all' },
  },
  moderator: straight('planner', 'reviews', 'race', 'quorum', 'vote', 'build', 'none', 'closer'),
};

const phases = ['one', 'two', 'three'].map((id) => `  - id: ${id}\n    title: Phase ${id}\n`).join('');

export const replies: JsonObject = {
  planner: [`---\nphases:\n${phases}---\nThree phases.\n`],
  reviewer: [reply('done', 'Reviewed.')],
  worker: [reply('done', 'Worked.')],
  closer: [reply('done', 'Closed.')],
};

/** An engine whose workflows are those of this file. */
export async function createBlockFixture(
  options: Parameters<typeof createFixture>[1] = {},
  script: JsonObject = replies,
): Promise<EngineFixture> {
  const config = scripted(script);
  const agent = config.agents['script']!;
  config.agents['script'] = { ...agent, config: { ...agent.config, repeat: true } };
  const definitions = new Map<string, WorkflowDefinition>();
  for (const file of called) {
    const definition = await definitionOf(file);
    definitions.set(definition.name, definition);
  }
  return createFixture(config, { resolveWorkflow: async (name) => definitions.get(name)!, ...options });
}

/** A thread that ran through all blocks. */
export async function runTeam({ engine }: EngineFixture, file: JsonObject = team): Promise<string> {
  const { thread } = await engine.start({ definition: await definitionOf(file), prompt: 'Build it.' });
  await engine.run(thread);
  return thread;
}
