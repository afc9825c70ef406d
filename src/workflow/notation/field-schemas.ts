import type { JsonObject, JsonValue } from '../../json.ts';
import { isolations, limitBounds, limitNames } from '../../schema/built-in/schema-parts.ts';
import { worded } from '../../schema/typed-schema.ts';
import type { Limits } from '../definition.ts';

/** Wider than a workflow's: role names go into paths percent-encoded, and United Workforce lets them be camel case. */
export const roleName: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const label: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const MAX_NEEDS = 32;
export const MAX_RETRIES = 100;

/** The `cwd` of a role: a folder of the work tree, by its text alone. */
export const insideWorkTree: RegExp = /^(?!\/)(?!(?:[^]*[/\\])?\.\.(?:[/\\]|$))[^]/u;

// Schemas of what several maps of a workflow file have. `null` counts as absent.

export const text = (description: string): JsonObject => ({ description, type: ['string', 'null'] });
export const needed = (description: string, why?: string): JsonObject =>
  worded({ description, type: 'string' }, why === undefined ? {} : { needed: why });
export const choice = (description: string, choices: readonly JsonValue[]): JsonObject => ({
  description,
  enum: [...choices, null],
});
export const integer = (description: string, minimum: number, maximum: number): JsonObject => {
  return { description, type: ['integer', 'null'], minimum, maximum };
};

/** A map with these keys, and `x-…`, which are free for anything. */
export function fields(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { properties, patternProperties: { '^x-': true }, additionalProperties: false, required: [...required] };
}

/** One of two keys is there and not the other, if the value is a map at all. */
export function eitherKey(...keys: readonly [string, string]): JsonObject {
  const choices = keys.map((key) => ({
    type: 'object',
    required: [key],
    properties: { [key]: { not: { type: 'null' } } },
  }));
  return { oneOf: [...choices, { not: { type: 'object' } }] };
}

/** A prompt in the place that messages name. */
export const prompt = (description: string, who: string): JsonObject =>
  worded(
    { ...text(description), pattern: '\\S' },
    {
      faults: {
        pattern: {
          code: 'empty-prompt',
          says: 'the prompt of {of} is empty',
          hint: `say what ${who} is to do, or leave the key out`,
        },
      },
    },
  );

export const isolationField = (whose: string): JsonObject =>
  choice(
    `whether ${whose} in a work tree of the thread's own: 'worktree', 'strict' (and nothing else may change meanwhile), 'none', or 'shared' (several may work in one work tree)`,
    isolations,
  );

const limitDescriptions: Record<keyof Limits, string> = {
  maxSteps: 'steps of the thread, all roles together; those of a role count its own',
  maxVisits: 'steps of one role',
  timeoutMs: 'wall time of one turn, in ms',
  idleTimeoutMs: 'time without a sign of life from the agent, in ms',
  maxTurns: 'how often models are asked',
  maxTokens: 'tokens in and out',
  maxCostUsd: 'US dollars, as far as agents say what they cost',
  maxDepth: 'how deep child threads may nest; 0 allows none',
};

/** The properties of `limits`. Only those of a workflow file may be `null`. */
export function limitProperties({ isNullable }: { isNullable: boolean }): JsonObject {
  return Object.fromEntries(
    limitNames.map((name) => {
      const { type = '', ...bounds } = limitBounds[name];
      const most = type === 'integer' && { maximum: Number.MAX_SAFE_INTEGER };
      return [
        name,
        { description: limitDescriptions[name], type: isNullable ? [type, 'null'] : type, ...bounds, ...most },
      ];
    }),
  );
}

export const UNKNOWN_USAGE =
  "what happens if an agent does not report what a limit counts: 'warn' says so, 'refuse' suspends ('warn')";

export const limits = (of: string, more: JsonObject = {}): JsonObject =>
  worded(
    {
      description: `where ${of} stops and waits for a person; absent limits do not hold`,
      type: ['object', 'null'],
      ...fields({ ...limitProperties({ isNullable: true }), ...more }),
    },
    {
      instead: {
        maxRounds: "it is called 'maxSteps'",
        timeout: "it is called 'timeoutMs', in milliseconds",
        unknownUsage: "it belongs under the 'limits' of the workflow",
      },
    },
  );
