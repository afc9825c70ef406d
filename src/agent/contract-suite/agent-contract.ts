import type { JsonObject } from '../../json.ts';
import type { AgentPackage, AgentReply, AgentRequest } from '../contract.ts';

/** How long one test may take where the author says nothing, in ms: a busy machine takes ten times as long. */
export const TIMEOUT_MS = 60_000;

/** A turn that an agent is asked for in a test. */
export type AgentTurn = {
  /** The configuration of this turn's agent, where it is another one than the contract's. */
  config?: JsonObject;
  /** What the request says otherwise than {@link agentRequest}: `prompt`, `outputSchema`, `answer` … */
  request?: Partial<AgentRequest>;
  /**
   * Gets ready what the turn needs, such as files in `request.cwd`; called before each turn. What it returns changes the
   * request once more.
   */
  prepare?: (request: AgentRequest) => Partial<AgentRequest> | void | Promise<Partial<AgentRequest> | void>;
};

/** What an agent is held to, told by its author. */
export type AgentContract = {
  /** The module that is the package: `import * as agentPackage from './index.js'`. */
  package: AgentPackage;
  /** A configuration that `configSchema` accepts; that of the turns, unless they have their own. */
  config: JsonObject;
  /** Configurations that `configSchema` has to refuse, beside the one with an unknown key that is always tried. */
  refusedConfigs?: readonly JsonObject[];
  /** A turn that ends with a reply; `reply` is what has to be in it. It is taken several times. */
  replies: AgentTurn & { reply?: Partial<Extract<AgentReply, { kind: 'reply' }>> };
  /**
   * A turn that does not end by itself, or not for a minute: a program that hangs, a server that does not answer. Without
   * it only the turn that replies is aborted, which tells little of an agent that waits for anything.
   */
  hangs?: AgentTurn;
  /** How long the turns of one test may take together; 60,000 by default. */
  timeoutMs?: number;
};
