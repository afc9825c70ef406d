import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { builtInAgents } from '../../../src/agent/load/agent-binding.ts';
import { checkValue } from '../../../src/agent/extract/extract-reply.ts';
import { configFileSchema } from '../../../src/engine/config/config-schema.ts';
import { parseConfigFile } from '../../../src/engine/config/parse-config.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { SchemaAndProgram } from '../../helpers/describe-agreement.ts';

const ajv: Ajv = new Ajv({ strict: false, ownProperties: true });
formats.default(ajv);
const schema = await configFileSchema();
const isAccepted = ajv.compile(schema);

/** What uwf finds wrong with a file, down to what its own agents say of their configurations. */
async function mistakesIn(value: JsonValue): Promise<string[]> {
  const { agents, mistakes } = await parseConfigFile(JSON.stringify(value), 'config.yaml');
  const found = mistakes.map(({ message }) => message);
  for (const { package: reference, config } of Object.values(agents)) {
    if (!reference.startsWith('builtin:')) continue;
    const load = builtInAgents[reference.slice('builtin:'.length)];
    if (load === undefined) found.push(`no ${reference}`);
    else found.push(...(await checkValue((await load()).packageDescriptor.configSchema, config, 'config')));
  }
  return found;
}

/** Mistakes that a schema of draft 7 does not see. */
const unseen = /the pattern of redact rule/;

async function disagreement(value: JsonValue): Promise<string | undefined> {
  const mistakes = await mistakesIn(value);
  const isFine = isAccepted(value);
  if (!isFine && mistakes.length === 0) return `only the schema refuses: ${ajv.errorsText(isAccepted.errors)}`;
  return isFine && mistakes.some((one) => !unseen.test(one)) ? `only uwf refuses: ${mistakes.join('; ')}` : undefined;
}

const agents: JsonObject = {
  claude: {
    package: 'builtin:acp',
    config: {
      command: ['npx', 'agent'],
      env: { A: 'b' },
      passEnv: ['KEY'],
      permissions: { rules: [{ kinds: ['read'], paths: ['**'], answer: 'allow' }], default: 'ask' },
      mcp: false,
      startTimeoutMs: 1,
    },
  },
  tests: { package: 'builtin:command', config: { argv: ['npm'], statuses: { 0: 'passed', default: 'failed' } } },
  me: { package: 'builtin:human', version: '^1.0.0' },
  model: {
    package: 'builtin:llm',
    price: { inputPerMTok: 1, outputPerMTok: 2 },
    config: {
      baseUrl: 'http://127.0.0.1/v1',
      model: 'm',
      maxCostUsd: 1,
      tools: ['read_file'],
      runCommand: { allow: ['npm test'] },
      mcpServers: { a: { command: 'x', args: [] }, b: { url: 'http://x/' } },
      retry: { maxRetries: 0 },
    },
  },
  script: { package: 'builtin:scripted', config: { replies: { writer: [{ reply: 'x' }] }, repeat: true } },
  child: { package: 'builtin:workflow', config: { workflow: 'develop', statuses: { completed: 'done' } } },
  other: { package: 'uwf-agent-other', config: { any: ['thing', null] } },
};

const whole: JsonObject = {
  agents,
  defaultAgent: 'me',
  roles: { 'develop.tester': 'tests', coder: 'claude' },
  limits: {
    maxSteps: 9,
    maxVisits: 1,
    timeoutMs: 5,
    idleTimeoutMs: 5,
    maxTurns: 5,
    maxTokens: 5,
    maxCostUsd: 0.5,
    unknownUsage: 'refuse',
  },
  context: { maxCharacters: 9000, compactAtCharacters: 90_000, compactor: 'me' },
  foldPacks: false,
  redact: {
    rules: [{ name: 'acme-token', pattern: 'acme_[a-z]{8}' }],
    allow: [{ rule: 'acme-token', path: 'test/**' }, { hash: `0a:${'1'.repeat(64)}` }],
  },
  snapshot: { mode: 'changed', maxBytes: 1000, timeoutMs: 500 },
};

/** A part of the whole: any of its keys, and any of its agents. */
function generatedConfig(random: () => number): JsonObject {
  const some = (from: JsonObject): JsonObject => Object.fromEntries(Object.entries(from).filter(() => random() < 0.5));
  const config = { ...some(whole), agents: some(agents) };
  const limits = { maxParallelThreads: 4, maxDepth: 0, ...some({ maxSteps: 1 }) };
  return random() < 0.5 ? config : { ...config, limits, redact: 'off' };
}

/** The schema of configuration files, and how uwf reads them. */
export const configFiles: SchemaAndProgram = {
  ajv,
  isAccepted,
  mistakesIn,
  disagreement,
  given: [whole, {}],
  generate: generatedConfig,
};
