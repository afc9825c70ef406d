import { AgentMissing } from '../../agent/agent-errors.ts';
import type { TokenPrice } from '../../agent/contract.ts';
import { builtInAgents } from '../../agent/load/agent-binding.ts';
import { priceSchema } from '../../agent/price.ts';
import {
  commandLineSchema,
  enumSchema,
  flagSchema,
  integerSchema,
  listSchema,
  NOT_EMPTY,
  objectSchema,
  recordSchema,
  type SchemaOf,
  textSchema,
  withoutWords,
  worded,
} from '../../schema/typed-schema.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { FileRefused } from '../../git/system/files.ts';
import type { SnapshotLimits } from '../../git/worktree/snapshot.ts';
import { isJsonObject, type JsonObject } from '../../json.ts';
import { nearestName } from '../../text/nearest-name.ts';
import type { Allowed, OwnRule } from '../../redaction/redactor.ts';
import { unknownUsages } from '../../schema/built-in/schema-parts.ts';
import type { ThreadLimits } from '../../workflow/definition.ts';
import { limitProperties, UNKNOWN_USAGE } from '../../workflow/notation/field-schemas.ts';

/** What a configuration says of secrets; `isOff` switches redaction off. */
export type ConfigRedact = { isOff: boolean; rules: OwnRule[]; allow: Allowed[] };

const ruleName: RegExp = /^[a-z0-9]+(?:-[a-z0-9]+)*$/u;
/** What `allowHashOf` makes of a value. */
const allowHash: RegExp = /^[0-9a-f]+:[0-9a-f]{64}$/u;

/** What the redaction of a configuration file means. */
export function readRedact(value: RedactFile): ConfigRedact {
  if (typeof value === 'string') return { isOff: true, rules: [], allow: [] };
  return { isOff: false, rules: value.rules ?? [], allow: value.allow ?? [] };
}

/** Says what is wrong with the regular expression of a rule, which its schema cannot say; `undefined` if nothing is. */
export function faultOfPattern({ name, pattern }: OwnRule): string | undefined {
  try {
    return new RegExp(pattern, 'u').test('') ? `the pattern of redact rule '${name}' matches an empty text` : undefined;
  } catch (error) {
    return `the pattern of redact rule '${name}' cannot be used: ${messageOf(error)}`;
  }
}

/** What several files say together. Of the user's own and the machine's the last that says anything switches it off or on. */
export function joinRedacts(files: readonly ConfigRedact[], own: readonly ConfigRedact[]): ConfigRedact {
  return {
    isOff: own.at(-1)?.isOff === true,
    rules: files.flatMap(({ rules }) => rules),
    allow: files.flatMap(({ allow }) => allow),
  };
}

// What a configuration file may say, as JSON Schema of draft 7, which editors know best. Every key stands here and nowhere else: the
// build compiles the schema to the check of the reader, and messages take their words from it.

/** Limits of a configuration: those that workflows have, and two for the machine. */
export type ConfigLimits = ThreadLimits & {
  /** How many threads may work at the same time. */
  maxParallelThreads?: number;
  /** How many threads agents may start or run by uwf's commands below one that no agent started; default 100. */
  maxNestedRuns?: number;
};

/** What agents are told. */
export type ConfigContext = {
  /** How many characters the replies of earlier steps may have together; default 60,000. */
  maxCharacters?: number;
  /** The thread is summed up before a turn that would be told so many characters or more; default: never. */
  compactAtCharacters?: number;
};

/** When the files that a step left are recorded: never, always, or if they differ from the last record. */
export type SnapshotMode = 'off' | 'on' | 'changed';

/** Whether a push of all threads asks about those that the remote does not have yet, or sends them. */
export type PushMode = 'ask' | 'all';

export type ConfigSnapshot = Partial<SnapshotLimits> & {
  /** For roles that do not say it themselves; default: `off`. */
  mode?: SnapshotMode;
};

export type ConfigIsolation = {
  /** Where they lie, absolute; default: below the user's state folder. */
  folder?: string;
  /** A program that prepares a new one. */
  setup?: [string, ...string[]];
  /** The most that its files may have together; default: no limit. */
  maxBytes?: number;
  /** How long making one may take; default: 10 minutes. */
  timeoutMs?: number;
};

type RedactFile = 'off' | { rules?: OwnRule[]; allow?: Allowed[] };

/** A configuration file without mistakes. */
export type ConfigFile = {
  agents?: Record<string, { package: string; version?: string; price?: TokenPrice; config?: JsonObject }>;
  defaultAgent?: string;
  roles?: Record<string, string>;
  limits?: ConfigLimits;
  context?: ConfigContext & { compactor?: string };
  foldPacks?: boolean;
  push?: PushMode;
  redact?: RedactFile;
  snapshot?: ConfigSnapshot;
  isolation?: ConfigIsolation;
};

const text = (description: string, more?: JsonObject): SchemaOf<string> =>
  textSchema(description, { ...NOT_EMPTY, ...more });
const count = (description: string): SchemaOf<number> =>
  integerSchema(description, 1, { maximum: Number.MAX_SAFE_INTEGER });

const ownRule = objectSchema(
  {
    name: worded(text('what the rule is called: acme-token', { pattern: ruleName.source }), {
      faults: { pattern: { code: 'bad-name', says: "{name} is no name such as acme-token: '{value}'" } },
    }),
    pattern: text('a regular expression that matches the secret, and no empty text', { format: 'regex' }),
  },
  {},
  { description: 'a form of a secret' },
);

const ENTRY = {
  code: 'wrong-type',
  says: "{name} must have a rule and a path, or a hash '<salt>:<SHA-256>'",
};

const allowed: SchemaOf<Allowed> = worded(
  {
    description: 'what a rule finds in some files, or one value',
    type: 'object',
    additionalProperties: false,
    properties: {
      rule: text('the name of the rule'),
      path: text('a glob of files: test/**'),
      hash: worded(
        text('<salt>:<SHA-256 of the salt, a NUL and the value>, in hexadecimal', { pattern: allowHash.source }),
        { wanted: "'<salt>:<SHA-256>' in hexadecimal" },
      ),
    },
    oneOf: [
      { type: 'object', required: ['rule', 'path'], maxProperties: 2 },
      { type: 'object', required: ['hash'], maxProperties: 1 },
      { not: { type: 'object' } },
    ],
  },
  { faults: { 'oneOf none': ENTRY } },
);

const agentsDescription = 'the agents by their names';
const packageDescription = 'what makes the agent: one that comes with uwf, or the name of an npm package';

const agentConfig: SchemaOf<JsonObject> = { description: "the agent's own configuration", type: 'object' };
const agent = worded(
  objectSchema(
    {
      package: worded(text(packageDescription, { examples: ['builtin:command'] }), {
        needed: 'such as \'package: "builtin:command"\'',
      }),
    },
    {
      version: text('the versions of the package that will do, as npm reads them: ^1.2.0'),
      price: priceSchema,
      config: agentConfig,
    },
    { description: 'an agent' },
  ),
  { name: "agent '{0}'" },
);

const limits: SchemaOf<ConfigLimits> = {
  description: 'where threads stop and wait for a person; absent limits do not hold',
  type: 'object',
  additionalProperties: false,
  properties: {
    ...limitProperties({ isNullable: false }),
    unknownUsage: enumSchema(unknownUsages, UNKNOWN_USAGE),
    maxParallelThreads: count('how many threads may work at the same time on this machine'),
    maxNestedRuns: count('how many threads agents may start with uwf below one run (100)'),
  },
};

const redact: SchemaOf<RedactFile> = worded(
  {
    description:
      "which values are secrets beside the known forms, and which are none; 'off' in a file of your own only",
    type: ['string', 'object'],
    pattern: '^off$',
    additionalProperties: false,
    properties: {
      rules: listSchema(ownRule, 'further forms of secrets'),
      allow: listSchema(allowed, 'what is found and is no secret'),
    },
  },
  { wanted: "'off', or a map of 'rules' and 'allow'" },
);

const properties = {
  agents: recordSchema(agent, agentsDescription),
  defaultAgent: text("the agent of every role that 'roles' does not name"),
  roles: recordSchema(
    text('the name of an agent'),
    "which agent does a role: 'workflow.role' or 'role', and the name of the agent",
  ),
  limits,
  context: objectSchema(
    {},
    {
      maxCharacters: count('how many characters the replies of earlier steps may have together (60000)'),
      compactAtCharacters: count('from how many characters on a thread is summed up before a turn (never)'),
      compactor: text('the agent that sums threads up'),
    },
    { description: 'what agents are told of a thread' },
  ),
  foldPacks: flagSchema('whether git repacks small packs (true)'),
  push: enumSchema(
    ['ask', 'all'],
    "whether 'uwf push' asks about threads that are new at the remote, or sends all ('ask')",
  ),
  redact,
  isolation: objectSchema(
    {},
    {
      folder: worded(text('the folder of the work trees, absolute', { pattern: '^/' }), { wanted: 'an absolute path' }),
      setup: commandLineSchema('a program that prepares a new work tree, and is run there: [npm, ci]'),
      maxBytes: count('how many bytes the files of a work tree may have'),
      timeoutMs: count('how long making one may take, in ms (600000)'),
    },
    { description: 'how the work trees of threads are made' },
  ),
  snapshot: objectSchema(
    {},
    {
      mode: enumSchema(['off', 'on', 'changed'], "never, always, or when they have changed ('off')"),
      maxBytes: count('how many bytes the files of a step may have that are new or changed'),
      timeoutMs: count('how long keeping them may take, in ms'),
    },
    { description: 'how the files that a step leaves are kept, where its role does not say it' },
  ),
};

/** The schema of a configuration as the reader uses it: what an agent's `config` may say is the agent's business. */
export const configSchema: SchemaOf<ConfigFile> = worded(
  objectSchema({}, properties, { description: 'agents, and which of them does which role' }),
  { name: 'the configuration' },
);

/** The schema of configuration files, for editors: with what each agent that comes with uwf takes. */
export async function configFileSchema(): Promise<JsonObject> {
  const builtIn = await Promise.all(
    Object.entries(builtInAgents).map(async ([name, load]) => {
      const { packageDescriptor } = await load();
      // Agents write draft 2020-12. Their `$defs` go to the root, where their references look for them.
      const { $defs = {}, ...schema } = packageDescriptor.configSchema;
      return { reference: `builtin:${name}`, schema, $defs };
    }),
  );
  const other = text('the name of an npm package', { not: { pattern: '^builtin:' } });
  const known = { enum: builtIn.map(({ reference }) => reference) };
  const checked: JsonObject = {
    ...agent,
    properties: {
      ...(isJsonObject(agent['properties']) && agent['properties']),
      package: { description: packageDescription, anyOf: [known, other] },
    },
    allOf: builtIn.map(({ reference, schema }) => ({
      if: { properties: { package: { const: reference } }, required: ['package'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { properties: { config: schema }, required: needsConfig(schema) ? ['config'] : [] },
    })),
  };
  const agents = { description: agentsDescription, type: 'object', additionalProperties: checked };
  return withoutWords({
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'a configuration of uwf',
    ...configSchema,
    // A file of comments alone configures nothing.
    type: ['object', 'null'],
    properties: { ...properties, agents },
    $defs: Object.assign({}, ...builtIn.map(({ $defs }) => $defs)),
  });
}

function needsConfig({ required, oneOf }: JsonObject): boolean {
  return required !== undefined || oneOf !== undefined;
}

/** One mistake in a configuration file. */
export type ConfigMistake = {
  file: string;
  /** From 1. */
  line: number;
  /** From 1. */
  column: number;
  /** A sentence that names the thing: `unknown key 'agnets'; did you mean 'agents'?` */
  message: string;
};

/** Configuration files that are not what they have to be; every mistake in them is listed. */
export class ConfigInvalid extends UwfError {
  readonly mistakes: readonly ConfigMistake[];

  constructor(mistakes: readonly ConfigMistake[]) {
    const lines = mistakes.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`);
    super(lines.join('\n'), { code: 'config-invalid', kind: 'usage', hint: 'correct the file and try again' });
    this.mistakes = mistakes;
  }
}

/** A configuration file is there and cannot be read. */
export class ConfigUnreadable extends UwfError {
  constructor(file: string, cause: unknown) {
    const isRefused = cause instanceof FileRefused;
    const reason = isRefused ? `it ${cause.reason}` : messageOf(cause);
    super(`the configuration ${file} cannot be read: ${reason}`, {
      code: 'config-unreadable',
      kind: 'environment',
      hint: isRefused ? cause.hint : 'look at what lies there, and at its permissions',
      cause,
      facts: { file },
    });
  }
}

/** No agent of this name is configured on this machine. */
export class UnknownAgent extends UwfError {
  constructor(agent: string, known: readonly string[]) {
    const near = nearestName(agent, known);
    super(`no agent is called '${agent}' on this machine`, {
      code: 'unknown-agent',
      kind: 'usage',
      hint: near === undefined ? `there is ${known.join(', ') || 'none'}` : `did you mean '${near}'?`,
      facts: { agent },
    });
  }
}

/** The error that says that no agent is configured for a role, and which lines of which file would configure one. */
export function noAgentFor(workflow: string, role: string, file: string = '.uwf/config.yaml'): AgentMissing {
  return new AgentMissing(`no agent is configured on this machine for role '${role}' of workflow '${workflow}'`, {
    subject: `${workflow}.${role}`,
    hint: [
      `add these lines to ${file} (another agent as you like):`,
      '',
      'agents:',
      '  me: { package: "builtin:human" }',
      'roles:',
      `  ${workflow}.${role}: me`,
    ].join('\n'),
  });
}
