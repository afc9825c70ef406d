import type { JsonObject } from '../../json.ts';
import { builtInObject, anyText, word } from './schema-parts.ts';

/** A record of which agent ran; what runs is resolved from local configuration every time. */
export type AgentRecord = {
  /** The name in the configuration. */
  name: string;
  /** An npm package, or `builtin:…`. */
  package: string;
  /** The package's version. */
  version: string;
  /**
   * The configured properties whose schema says `x-uwf-record: true`, never a secret. May hold `{ "$cas": … }` links, as
   * to the workflow that `builtin:workflow` runs.
   */
  config: JsonObject;
};

/** The package that the record of a block names: no agent runs a block, its branches do. */
export const BLOCK_PACKAGE = 'builtin:block';

export const agentSchema: JsonObject = builtInObject(
  'agent',
  'A record of the agent that ran: its package and what may be known of its configuration. Nothing is run from it.',
  { name: word, package: word, version: anyText, config: { type: 'object' } },
);
