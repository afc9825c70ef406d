import { isJsonObject, type JsonObject } from '../../json.ts';
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

/** The package that the record of a suspension names whose turn no rule gave yet: one of them exceeds its limits. */
export const RULES_PACKAGE = 'builtin:rules';

const HUMAN_PACKAGE = 'builtin:human';

/** Tells whether the turns of an agent are those of a person. */
export function isPerson(agent: Pick<AgentRecord, 'package'>): boolean {
  return agent.package === HUMAN_PACKAGE;
}

const COMMAND_PACKAGE = 'builtin:command';

/** Tells whether a step is that of a program: how the program ended gave the status, and the text is its output. */
export function isOfProgram(
  { package: name, config }: Pick<AgentRecord, 'package' | 'config'>,
  meta: JsonObject,
): boolean {
  const { statuses } = config;
  if (name !== COMMAND_PACKAGE || !isJsonObject(statuses)) return false;
  return Object.values(statuses).some((status) => status === meta['$status']);
}

export const agentSchema: JsonObject = builtInObject(
  'agent',
  'A record of the agent that ran: its package and what may be known of its configuration. Nothing is run from it.',
  { name: word, package: word, version: anyText, config: { type: 'object' } },
);
