import type { JsonObject } from '../../json.ts';
import type { AgentPackage, TokenPrice } from '../contract.ts';

/** An agent as the configuration names it: a package and what it is configured with. */
export type AgentBinding = {
  /** The agent's name in the configuration. */
  name: string;
  /** `builtin:<name>`, or the name of an npm package. */
  package: string;
  /** The versions that will do, a range as npm reads it: `1.2.3`, `^1.2.0`, `>=1.2 <3`; absent: any. */
  version?: string;
  config: JsonObject;
  /** What its tokens cost, where it reports tokens and no cost of its own. */
  price?: TokenPrice;
  /** Where it is declared, `file:line:column`, for messages; absent where no file declares it. */
  declaredAt?: string;
  /** Set where the user's own configuration declares it, and no file of the repository does. */
  isUsersOwn?: boolean;
};

/** The agents that uwf brings along; each module is loaded when its agent is asked for. */
export const builtInAgents: Readonly<Record<string, () => Promise<AgentPackage>>> = {
  acp: () => import('../acp/acp-agent.ts'),
  command: () => import('../command/command-agent.ts'),
  human: () => import('../human/human-agent.ts'),
  llm: () => import('../llm/llm-agent.ts'),
  scripted: () => import('../scripted/scripted-agent.ts'),
  workflow: () => import('../workflow/workflow-agent.ts'),
};
