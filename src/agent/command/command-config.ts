import type { JsonObject } from '../../json.ts';

/** The configuration of `builtin:command`, defaults not yet filled in. */
export type CommandConfig = {
  /** Program and arguments. No shell reads them. */
  argv: [string, ...string[]];
  /** Added to the environment, over what uwf itself has. */
  env?: Record<string, string>;
  /** What an exit means: by exit code (`0`), by signal (`SIGSEGV`), or for all others (`default`): the `$status` to report. */
  statuses?: Record<string, string>;
  /** Bytes of standard output that a turn may write; default 8 MiB. */
  maxOutputBytes?: number;
  /** From SIGTERM to SIGKILL when a turn is stopped, in ms; default 5,000. */
  graceMs?: number;
};

/**
 * JSON Schema of {@link CommandConfig}.
 *
 * `argv` and `env` are not recorded with the thread: they may hold paths of this machine, and what should be secret.
 */
export const commandConfigSchema: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['argv'],
  properties: {
    argv: {
      description: 'program and arguments; no shell reads them',
      type: 'array',
      minItems: 1,
      items: { type: 'string' },
    },
    env: {
      description: 'added to the environment',
      type: 'object',
      additionalProperties: { type: 'string' },
    },
    statuses: {
      description: "the $status to report, by exit code, signal name or 'default'",
      type: 'object',
      minProperties: 1,
      propertyNames: { pattern: '^(default|0|[1-9][0-9]{0,2}|SIG[A-Z0-9]+)$' },
      additionalProperties: { type: 'string', minLength: 1 },
      'x-uwf-record': true,
    },
    maxOutputBytes: {
      description: 'bytes of standard output that a turn may write (8388608)',
      type: 'integer',
      minimum: 1,
      maximum: 268_435_456,
    },
    graceMs: {
      description: 'from SIGTERM to SIGKILL, in ms (5000)',
      type: 'integer',
      minimum: 0,
      maximum: 600_000,
    },
  },
};
