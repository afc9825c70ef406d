import { builtInAgents } from '../agent/built-in-agents.ts';
import type { JsonObject } from '../json.ts';
import { limitProperties } from '../workflow/notation/file-schema.ts';
import { allowHash, ruleName } from './redact-config.ts';

// What a configuration file may say, as JSON Schema of draft 7, which editors know best. The reader takes its keys, types
// and bounds from here.

const text = (description: string): JsonObject => ({ description, type: 'string', minLength: 1 });
const flag = (description: string): JsonObject => ({ description, type: 'boolean' });
const count = (description: string): JsonObject => ({
  description,
  type: 'integer',
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
});

function fields(description: string, properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { description, type: 'object', properties, required: [...required], additionalProperties: false };
}

const ownRule = fields(
  'a form of a secret',
  {
    name: { ...text('what the rule is called: acme-token'), pattern: ruleName.source },
    pattern: { ...text('a regular expression that matches the secret, and no empty text'), format: 'regex' },
  },
  ['name', 'pattern'],
);

const allowed: JsonObject = {
  oneOf: [
    fields(
      'what a rule finds in some files',
      {
        rule: text('the name of the rule'),
        path: text('a glob of files: test/**'),
      },
      ['rule', 'path'],
    ),
    fields(
      'one value',
      {
        hash: {
          ...text('<salt>:<SHA-256 of the salt, a NUL and the value>, in hexadecimal'),
          pattern: allowHash.source,
        },
      },
      ['hash'],
    ),
  ],
};

const agentsDescription = 'the agents by their names';
const packageDescription = 'what makes the agent: one that comes with uwf, or the name of an npm package';

const agentProperties: JsonObject = {
  package: {
    ...text(packageDescription),
    examples: ['builtin:command'],
  },
  version: text('the versions of the package that will do, as npm reads them: ^1.2.0'),
  config: { description: "the agent's own configuration", type: 'object' },
};

const agent = fields('an agent', agentProperties, ['package']);

const properties: JsonObject = {
  agents: { description: agentsDescription, type: 'object', additionalProperties: agent },
  defaultAgent: text("the agent of every role that 'roles' does not name"),
  roles: {
    description: "which agent does a role: 'workflow.role' or 'role', and the name of the agent",
    type: 'object',
    additionalProperties: text('the name of an agent'),
  },
  limits: fields('where threads stop and wait for a person; absent limits do not hold', {
    ...limitProperties({ isNullable: false }),
    maxParallelThreads: count('how many threads may work at the same time on this machine'),
  }),
  context: fields('what agents are told of a thread', {
    maxCharacters: count('how many characters the replies of earlier steps may have together (60000)'),
    compactAtCharacters: count('from how many characters on a thread is summed up before a turn (never)'),
    compactor: text('the agent that sums threads up'),
  }),
  foldPacks: flag('whether git folds small packs in the background while agents work (true)'),
  redact: {
    description:
      "which values are secrets beside the known forms, and which are none; 'off' in a file of your own only",
    anyOf: [
      { const: 'off' },
      fields('what is a secret and what is none', {
        rules: { description: 'further forms of secrets', type: 'array', items: ownRule },
        allow: { description: 'what is found and is no secret', type: 'array', items: allowed },
      }),
    ],
  },
  snapshot: fields('how the files that a step leaves are kept, where its role does not say it', {
    mode: { description: "never, always, or when they have changed ('off')", enum: ['off', 'on', 'changed'] },
    maxBytes: count('how many bytes the files of a step may have that are new or changed'),
    timeoutMs: count('how long keeping them may take, in ms'),
  }),
};

/** The schema of a configuration as the reader uses it: what an agent's `config` may say is the agent's business. */
export const configSchema: JsonObject = fields('agents, and which of them does which role', properties);

/** The schema of configuration files, for editors: with what each agent that comes with uwf takes. */
export async function configFileSchema(): Promise<JsonObject> {
  const builtIn = await Promise.all(
    Object.entries(builtInAgents).map(async ([name, load]) => {
      const { packageDescriptor } = await load();
      // Agents write draft 2020-12. Their `$defs` go to the root, where their references look for them.
      const { $defs = {}, dependentRequired: dependencies = {}, ...schema } = packageDescriptor.configSchema;
      return { reference: `builtin:${name}`, schema: { ...schema, dependencies }, $defs };
    }),
  );
  const other = { ...text('the name of an npm package'), not: { pattern: '^builtin:' } };
  const known = { enum: builtIn.map(({ reference }) => reference) };
  const checked: JsonObject = {
    ...agent,
    properties: { ...agentProperties, package: { description: packageDescription, anyOf: [known, other] } },
    allOf: builtIn.map(({ reference, schema }) => ({
      if: { properties: { package: { const: reference } }, required: ['package'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { config: schema }, required: needsConfig(schema) ? ['config'] : [] },
    })),
  };
  const agents = { description: agentsDescription, type: 'object', additionalProperties: checked };
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'a configuration of uwf',
    ...configSchema,
    // A file of comments alone configures nothing.
    type: ['object', 'null'],
    properties: { ...properties, agents },
    $defs: Object.assign({}, ...builtIn.map(({ $defs }) => $defs)),
  };
}

function needsConfig({ required, oneOf }: JsonObject): boolean {
  return required !== undefined || oneOf !== undefined;
}
