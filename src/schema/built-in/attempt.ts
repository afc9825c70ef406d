import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { anyText, builtInObject, isSet, redacted, ref, type Redacted } from './schema-parts.ts';
import { usageOrNull } from './usage.ts';
import type { Usage } from './usage.ts';

/** A try that came to nothing. */
export type Attempt = {
  /** What the agent said, a {@link Content}. */
  content: NodeHash;
  /** Why it did not count, one line each; of a reply that was refused, as the agent was told. */
  errors: string[];
  /** null where the agent reports none. */
  usage: Usage | null;
  redacted?: Redacted;
  /**
   * Present if its turn was cut off before an outcome was stored. A later turn, or the end, of the thread has stored what it
   * used.
   */
  interrupted?: true;
};

export const attemptSchema: JsonObject = builtInObject(
  'attempt',
  'A reply that did not count, and why.',
  {
    content: ref('content'),
    errors: { type: 'array', items: anyText },
    usage: usageOrNull,
    redacted,
    interrupted: isSet,
  },
  ['redacted', 'interrupted'],
);
