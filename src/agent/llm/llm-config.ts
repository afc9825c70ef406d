import type { JsonObject } from '../../json.ts';
import {
  integerSchema,
  listSchema,
  NEEDS_PRICE,
  NOT_EMPTY,
  numberSchema,
  objectSchema,
  recorded,
  recordSchema,
  type SchemaOf,
  textSchema,
} from '../../schema/typed-schema.ts';

/** A server of the Model Context Protocol: a program that speaks it on stdin and stdout, or an address. */
export type McpServerConfig =
  | { command: string; args?: string[]; env?: Record<string, string> }
  | { url: string; headers?: Record<string, string> };

/** Configuration of `builtin:llm`, defaults not yet filled in: {@link llmConfigSchema} says what each is. */
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
  tools?: string[];
  runCommand?: { timeoutMs?: number; allow?: string[]; passEnv?: string[] };
  mcpServers?: Record<string, McpServerConfig>;
  retry?: { maxRetries?: number; baseDelayMs?: number; maxDelayMs?: number; maxRetryAfterMs?: number };
  requestTimeoutMs?: number;
  maxAnswerBytes?: number;
  maxToolResultCharacters?: number;
  maxContextCharacters?: number;
};

const texts = (description: string): SchemaOf<string[]> => listSchema(textSchema(undefined, NOT_EMPTY), description);
const textsByName = (description: string): SchemaOf<Record<string, string>> => recordSchema(textSchema(), description);
const milliseconds = (description: string): SchemaOf<number> => integerSchema(description, 1, { maximum: 86_400_000 });
/** Headers that carry keys: a key comes from `apiKeyEnv` and stands in no file. */
const keyHeader = '^(?:[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn]|(?:[Xx]-)?[Aa][Pp][Ii]-[Kk][Ee][Yy])$';
const url = { pattern: '^https?://[^\\s]+$' };

const runCommand = objectSchema(
  {},
  {
    timeoutMs: milliseconds('how long a command may take (120000)'),
    allow: texts('the words that a command has to begin with'),
    passEnv: texts('names of variables that commands see'),
  },
  { description: 'how run_command works' },
);

// The type of `oneOf` is more than `objectOf` can tell.
const mcpServer: JsonObject = objectSchema(
  {},
  {
    command: textSchema('a program that speaks it on stdin and stdout', NOT_EMPTY),
    args: listSchema(textSchema(), "the program's arguments"),
    env: textsByName("added to the program's environment"),
    url: textSchema('the address of a server', url),
    headers: textsByName('what is sent to the server beside'),
  },
  { oneOf: [{ required: ['command'] }, { required: ['url'] }] },
);

const retry = objectSchema(
  {},
  {
    maxRetries: integerSchema('requests after the first (4)', 0, { maximum: 100 }),
    baseDelayMs: milliseconds('the first pause, in ms; each further one is twice as long (1000)'),
    maxDelayMs: milliseconds('the longest pause, in ms, unless the server asks for a longer one (30000)'),
    maxRetryAfterMs: milliseconds('a server that asks for a longer pause, in ms, is not waited for (600000)'),
  },
  { description: 'when a request that failed is sent again' },
);

/**
 * JSON Schema of {@link LlmConfig}.
 *
 * Recorded with a thread is what tells how its text came about: model, temperature and the limits. Addresses, headers,
 * names of variables and commands stay on this machine.
 */
export const llmConfigSchema: SchemaOf<LlmConfig> = objectSchema(
  {
    baseUrl: textSchema('address of an OpenAI-compatible server, up to and with /v1', url),
    model: recorded(textSchema("the model's name", NOT_EMPTY)),
  },
  {
    apiKeyEnv: textSchema('name of the environment variable that holds the key', {
      pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    }),
    apiKeyHeader: textSchema(
      'the header that the key goes into, as it is; by default Authorization, as a bearer token',
      {
        pattern: '^[A-Za-z0-9-]+$',
      },
    ),
    headers: recordSchema(textSchema(), 'more headers; none that is secret', {
      propertyNames: { not: { pattern: keyHeader } },
    }),
    temperature: recorded(numberSchema('as the model takes it', 0)),
    maxOutputTokens: recorded(integerSchema('tokens of one answer of the model', 1)),
    maxTurns: recorded(integerSchema('answers of the model in one turn of the role (50)', 1)),
    maxCostUsd: recorded(
      numberSchema('US dollars that one turn of the role may cost, by the price of the agent', 0, NEEDS_PRICE),
    ),
    tools: recorded(
      texts('names of the tools that the model gets, those of MCP servers among them as <server>__<tool> (all)'),
    ),
    runCommand,
    mcpServers: recordSchema<McpServerConfig>(mcpServer, 'servers of the Model Context Protocol, by name', {
      propertyNames: { pattern: '^[A-Za-z0-9_-]{1,32}$' },
    }),
    retry,
    requestTimeoutMs: milliseconds('how long the server may say nothing before the request is sent again, in ms'),
    maxAnswerBytes: integerSchema(
      'bytes of one answer as it comes over the wire; a server that sends more is cut off (16777216)',
      1024,
    ),
    maxToolResultCharacters: integerSchema("characters of a tool's result that the model is told (30000)", 200),
    maxContextCharacters: integerSchema(
      'characters of a conversation from which on old results of tools are left out (400000)',
      1000,
    ),
  },
);
