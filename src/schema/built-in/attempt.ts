import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { builtInObject, redacted, ref, successorOf, anyText, type Redacted, type Successor } from './schema-parts.ts';
import { fullUsageOrNull, isFullUsage, usageOrNull } from './usage.ts';
import type { Usage } from './usage.ts';

/** A reply that did not count. */
export type Attempt = {
  /** What the agent said, a {@link Content}. */
  content: NodeHash;
  /** Why it did not count, one line each, as the agent was told. */
  errors: string[];
  /** null where the agent reports none. */
  usage: Usage | null;
  redacted?: Redacted;
};

export const attemptSchema: JsonObject = builtInObject('attempt', 'A reply that did not count, and why.', {
  content: ref('content'),
  errors: { type: 'array', items: anyText },
  usage: usageOrNull,
});

export const attemptSuccessor: Successor = successorOf(
  attemptSchema,
  { redacted },
  { properties: { usage: fullUsageOrNull }, isNeeded: ({ usage }) => isFullUsage(usage) },
);
