import type * as Sdk from '@agentclientprotocol/sdk/unstable';
import {
  commandLineSchema,
  flagSchema,
  integerSchema,
  listSchema,
  NOT_EMPTY,
  objectSchema,
  recorded,
  recordSchema,
  type SchemaOf,
  textSchema,
} from '../../schema/typed-schema.ts';
import { type Permissions, permissionsSchema } from './permissions/permission-policy.ts';

/** The configuration of `builtin:acp`, defaults not yet filled in. */
export type AcpConfig = {
  /** The agent's program and its arguments. No shell reads them. */
  command: [string, ...string[]];
  /** Added to the environment that the agent gets. */
  env?: Record<string, string>;
  /** Names of further variables of uwf's own environment that the agent gets. */
  passEnv?: string[];
  /** The id of the way to log in that is used before a session is opened; absent: only what the agent does by itself. */
  authMethod?: string;
  /** The model to ask for, where the agent lets its client choose. */
  model?: string;
  /** The mode to ask for, such as `plan`, where the agent has modes. */
  mode?: string;
  /** What the agent may do; see {@link Permissions}. */
  permissions?: Permissions;
  /** Whether the agent is given uwf's own MCP server; default true. */
  mcp?: boolean;
  /** How long the agent may take until its session is open, in ms; default 300,000, as it may have to be installed first. */
  startTimeoutMs?: number;
  /** From asking a turn to stop to SIGTERM, and from there to SIGKILL, in ms each; default 5,000. */
  graceMs?: number;
  /** Bytes of standard output that one try of a turn may write; default 64 MiB. */
  maxOutputBytes?: number;
};

export const DEFAULT_START_TIMEOUT_MS = 300_000;
export const DEFAULT_GRACE_MS = 5_000;
export const DEFAULT_MAX_OUTPUT_BYTES: number = 64 * 1024 * 1024;

const duration = (description: string, minimum: number): SchemaOf<number> =>
  integerSchema(description, minimum, { maximum: 3_600_000 });

/**
 * JSON Schema of {@link AcpConfig}.
 *
 * What may hold paths of this machine, or what should be secret, is not recorded with the thread.
 */
export const acpConfigSchema: SchemaOf<AcpConfig> = objectSchema(
  { command: commandLineSchema("the agent's program and its arguments; no shell reads them") },
  {
    env: recordSchema(textSchema(), 'added to the environment that the agent gets'),
    passEnv: listSchema(
      textSchema(undefined, { pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
      'names of variables that the agent gets beside PATH, HOME and the like: ANTHROPIC_API_KEY',
    ),
    authMethod: textSchema("the id of the agent's way to log in", NOT_EMPTY),
    model: recorded(textSchema('the model to ask for, where the agent lets its client choose', NOT_EMPTY)),
    mode: recorded(textSchema('the mode to ask for, where the agent has modes', NOT_EMPTY)),
    permissions: permissionsSchema,
    mcp: flagSchema("whether the agent is given uwf's own MCP server (true)"),
    startTimeoutMs: duration('how long it may take until the session is open, in ms (300000)', 1),
    graceMs: duration('from asking to stop to SIGTERM, and from there to SIGKILL, in ms (5000)', 0),
    maxOutputBytes: integerSchema('bytes of standard output that one try of a turn may write (67108864)', 1024, {
      maximum: 1_073_741_824,
    }),
  },
);

/**
 * The SDK of the Agent Client Protocol, loaded when the first agent is started.
 *
 * Version 1 of the protocol with the additions that are not yet part of it: the tokens of a prompt are among them.
 */
export function loadSdk(): Promise<typeof Sdk> {
  return import('@agentclientprotocol/sdk/unstable');
}
