import { expect } from 'vitest';
import { rulesOf, type Flow } from '../helpers/plot.ts';
import { verifyThreads } from '../../src/verify/verify-threads.ts';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { AgentBinding } from '../../src/agent/load/agent-binding.ts';
import type { JsonObject } from '../../src/json.ts';
import type { Repository } from '../../src/git/repository.ts';
import type { Config } from '../../src/engine/config/config.ts';
import { createEngine, type Engine } from '../../src/engine/engine.ts';
import { readingContext, type EngineOptions } from '../../src/engine/engine-context.ts';
import type { EngineEvent } from '../../src/engine/events.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  type TemporaryRepository,
} from '../helpers/temporary-repository.ts';

/** A configuration in which each role has the agent that a package and its config name. */
export function configOf(roles: Record<string, Pick<AgentBinding, 'package' | 'config' | 'price'>>): Config {
  const agents = Object.entries(roles).map(([role, agent]) => [`${role}-agent`, { name: `${role}-agent`, ...agent }]);
  return {
    agents: Object.fromEntries(agents) as Config['agents'],
    roles: Object.fromEntries(Object.keys(roles).map((role) => [role, `${role}-agent`])),
  };
}

/** A configuration in which one scripted agent does every role. */
export function scripted(replies: JsonObject, config: Partial<Config> = {}): Config {
  return {
    agents: { script: { name: 'script', package: 'builtin:scripted', config: { replies } } },
    defaultAgent: 'script',
    roles: {},
    ...config,
  };
}

export type EngineFixture = TemporaryRepository & {
  repository: Repository;
  engine: Engine;
  events: EngineEvent[];
};

/** An engine on a repository of its own. */
export async function createFixture(config: Config, options: Partial<EngineOptions> = {}): Promise<EngineFixture> {
  await prepareHashing();
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const events: EngineEvent[] = [];
  const env = { PATH: process.env['PATH'] };
  const onEvent = (event: EngineEvent): void => void events.push(event);
  const engine = createEngine({ repository, config, env, onEvent, ...options });
  return { ...temporary, repository, engine, events };
}

/** A definition from roles' schemas and rules. */
export function workflow(
  name: string,
  roles: Record<string, JsonObject>,
  flow: Flow,
  more: Partial<WorkflowDefinition> = {},
): WorkflowDefinition {
  const withPrompts = Object.entries(roles).map(([role, schema]) => [
    role,
    { description: `${role} of ${name}`, systemPrompt: `Be the ${role}.`, extractPrompt: '', schema },
  ]);
  return {
    name,
    description: name,
    roles: Object.fromEntries(withPrompts) as WorkflowDefinition['roles'],
    moderator: rulesOf(flow),
    ...more,
  };
}

/** A schema that wants one of some statuses. */
export function statuses(...names: string[]): JsonObject {
  return { type: 'object', properties: { $status: { enum: names } }, required: ['$status'] };
}

/** A reply with a status and a text. */
export function reply(status: string, text = `It is ${status}.`): string {
  return `---\n$status: ${status}\n---\n${text}\n`;
}

/** Expects that uwf's verification and git's find nothing wrong in a repository. */
export async function expectSound({ repository, dir }: Pick<EngineFixture, 'repository' | 'dir'>): Promise<void> {
  for await (const verdict of verifyThreads(readingContext(repository)))
    expect(verdict).toMatchObject({ findings: [] });
  expectCleanFsck(dir);
}
