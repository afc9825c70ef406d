import type { JsonObject } from '../../json.ts';

/** What a million tokens cost, in US dollars. Tokens of caches for which no price is given cost as much as other input. */
export type TokenPrice = {
  inputPerMTok: number;
  outputPerMTok: number;
  cacheReadPerMTok?: number;
  cacheWritePerMTok?: number;
};

/** A server of the Model Context Protocol: a program that speaks it on stdin and stdout, or an address. */
export type McpServerConfig =
  | { command: string; args?: string[]; env?: Record<string, string> }
  | { url: string; headers?: Record<string, string> };

/** How commands of the model are run. */
export type RunCommandConfig = {
  /** How long a command may take, in ms; default 120,000. */
  timeoutMs?: number;
  /** The only commands there are: the words that one begins with (`npm test`, `git`). Absent: any. */
  allow?: string[];
  /** Names of variables that commands see, beside the harmless ones. */
  passEnv?: string[];
};

/** When a request that failed is sent again. */
export type RetryConfig = {
  /** Requests after the first; default 4. */
  maxRetries?: number;
  /** The first pause, in ms; each further one is twice as long. Default 1,000. */
  baseDelayMs?: number;
  /** The longest pause, in ms, unless the server itself asks for a longer one. Default 30,000. */
  maxDelayMs?: number;
  /** A server that asks for a longer pause than this is not waited for: the thread is suspended. Default 600,000. */
  maxRetryAfterMs?: number;
};

/** Configuration of `builtin:llm`. */
export type LlmConfig = {
  baseUrl: string;
  model: string;
  apiKeyEnv?: string;
  apiKeyHeader?: string;
  headers?: Record<string, string>;
  temperature?: number;
  maxOutputTokens?: number;
  maxTurns?: number;
  maxCostUsd?: number;
  price?: TokenPrice;
  tools?: string[];
  runCommand?: RunCommandConfig;
  mcpServers?: Record<string, McpServerConfig>;
  retry?: RetryConfig;
  requestTimeoutMs?: number;
  maxAnswerBytes?: number;
  maxToolResultCharacters?: number;
  maxContextCharacters?: number;
};

const texts: JsonObject = { type: 'array', items: { type: 'string', minLength: 1 } };
const textsByName: JsonObject = { type: 'object', additionalProperties: { type: 'string' } };
const milliseconds: JsonObject = { type: 'integer', minimum: 1, maximum: 86_400_000 };
/** Headers that carry keys: a key comes from `apiKeyEnv` and stands in no file. */
const keyHeader = '^(?:[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn]|(?:[Xx]-)?[Aa][Pp][Ii]-[Kk][Ee][Yy])$';

/**
 * JSON Schema of {@link LlmConfig}.
 *
 * Recorded with a thread is what tells how its text came about: model, temperature and the limits. Addresses, headers,
 * names of variables and commands stay on this machine.
 */
export const llmConfigSchema: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['baseUrl', 'model'],
  dependentRequired: { maxCostUsd: ['price'] },
  properties: {
    baseUrl: {
      description: 'address of an OpenAI-compatible server, up to and with /v1',
      type: 'string',
      pattern: '^https?://[^\\s]+$',
    },
    model: { description: "the model's name", type: 'string', minLength: 1, 'x-uwf-record': true },
    apiKeyEnv: {
      description: 'name of the environment variable that holds the key',
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    },
    apiKeyHeader: {
      description: 'the header that the key goes into, as it is; by default Authorization, as a bearer token',
      type: 'string',
      pattern: '^[A-Za-z0-9-]+$',
    },
    headers: {
      description: 'more headers; none that is secret',
      ...textsByName,
      propertyNames: { not: { pattern: keyHeader } },
    },
    temperature: { description: 'as the model takes it', type: 'number', minimum: 0, 'x-uwf-record': true },
    maxOutputTokens: {
      description: 'tokens of one answer of the model',
      type: 'integer',
      minimum: 1,
      'x-uwf-record': true,
    },
    maxTurns: {
      description: 'answers of the model in one turn of the role (50)',
      type: 'integer',
      minimum: 1,
      'x-uwf-record': true,
    },
    maxCostUsd: {
      description: 'US dollars that one turn of the role may cost',
      type: 'number',
      minimum: 0,
      'x-uwf-record': true,
    },
    price: {
      description: 'US dollars for a million tokens',
      type: 'object',
      additionalProperties: false,
      required: ['inputPerMTok', 'outputPerMTok'],
      properties: {
        inputPerMTok: { description: 'that the model reads', type: 'number', minimum: 0 },
        outputPerMTok: { description: 'that the model writes', type: 'number', minimum: 0 },
        cacheReadPerMTok: { description: 'of those read from a cache (as inputPerMTok)', type: 'number', minimum: 0 },
        cacheWritePerMTok: { description: 'of those written to a cache (as inputPerMTok)', type: 'number', minimum: 0 },
      },
      'x-uwf-record': true,
    },
    tools: {
      description: 'names of the tools that the model gets, those of MCP servers among them as <server>__<tool> (all)',
      ...texts,
      'x-uwf-record': true,
    },
    runCommand: {
      description: 'how run_command works',
      type: 'object',
      additionalProperties: false,
      properties: {
        timeoutMs: { description: 'how long a command may take (120000)', ...milliseconds },
        allow: { description: 'the words that a command has to begin with', ...texts },
        passEnv: { description: 'names of variables that commands see', ...texts },
      },
    },
    mcpServers: {
      description: 'servers of the Model Context Protocol, by name',
      type: 'object',
      propertyNames: { pattern: '^[A-Za-z0-9_-]{1,32}$' },
      additionalProperties: {
        type: 'object',
        additionalProperties: false,
        properties: {
          command: { description: 'a program that speaks it on stdin and stdout', type: 'string', minLength: 1 },
          args: { description: "the program's arguments", type: 'array', items: { type: 'string' } },
          env: { description: "added to the program's environment", ...textsByName },
          url: { description: 'the address of a server', type: 'string', pattern: '^https?://[^\\s]+$' },
          headers: { description: 'what is sent to the server beside', ...textsByName },
        },
        oneOf: [{ required: ['command'] }, { required: ['url'] }],
      },
    },
    retry: {
      description: 'when a request that failed is sent again',
      type: 'object',
      additionalProperties: false,
      properties: {
        maxRetries: { description: 'requests after the first (4)', type: 'integer', minimum: 0, maximum: 100 },
        baseDelayMs: {
          description: 'the first pause, in ms; each further one is twice as long (1000)',
          ...milliseconds,
        },
        maxDelayMs: {
          description: 'the longest pause, in ms, unless the server asks for a longer one (30000)',
          ...milliseconds,
        },
        maxRetryAfterMs: {
          description: 'a server that asks for a longer pause, in ms, is not waited for (600000)',
          ...milliseconds,
        },
      },
    },
    requestTimeoutMs: {
      description: 'how long the server may say nothing before the request is sent again, in ms',
      ...milliseconds,
    },
    maxAnswerBytes: {
      description: 'bytes of one answer as it comes over the wire; a server that sends more is cut off (16777216)',
      type: 'integer',
      minimum: 1024,
    },
    maxToolResultCharacters: {
      description: "characters of a tool's result that the model is told (30000)",
      type: 'integer',
      minimum: 200,
    },
    maxContextCharacters: {
      description: 'characters of a conversation from which on old results of tools are left out (400000)',
      type: 'integer',
      minimum: 1000,
    },
  },
};
