import type { JsonObject } from '../../json.ts';

/** The configuration of `builtin:command`, defaults not yet filled in. */
export type CommandConfig = {
  /** Program and arguments. No shell reads them. */
  argv: [string, ...string[]];
  /** Added to the environment, over what uwf itself has. */
  env?: Record<string, string>;
  /** What an exit means: by exit code (`0`), by signal (`SIGSEGV`), or for all others (`default`): the `$status` to report. */
  statuses?: Record<string, string>;
  /** What of the program's output is the text; by default standard output, or standard error where that is empty. */
  output?: 'stdout' | 'stderr' | 'both';
  /** The exits, by code or by signal, after which the program is run again, as often as the role's `retries` say. */
  retryOnExit?: (number | string)[];
  /** True for a program that may be run as often as there is something to ask: for a correction, a question, a test. */
  answers?: boolean;
  /** Bytes of output that a turn may write; default 8 MiB. */
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
    output: {
      description: 'what the text is (stdout, or stderr where that is empty)',
      enum: ['stdout', 'stderr', 'both'],
      'x-uwf-record': true,
    },
    retryOnExit: {
      description: 'exit codes, and names of signals, after which it is run again (none)',
      type: 'array',
      items: {
        anyOf: [
          { type: 'integer', minimum: 1, maximum: 255 },
          { type: 'string', pattern: '^SIG[A-Z0-9]+$' },
        ],
      },
      'x-uwf-record': true,
    },
    answers: {
      description:
        'it may be run for what it is asked beside its turns, and again for a status that is not accepted (false)',
      type: 'boolean',
      'x-uwf-record': true,
    },
    maxOutputBytes: {
      description: 'bytes of output that a turn may write (8388608)',
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
