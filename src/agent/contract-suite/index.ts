/**
 * `uwf/agent-contract`: what the author of an agent needs in a test. Runs under vitest only.
 */
export type { AgentContract, AgentTurn } from './describe-agent.ts';
export { agentRequest, type ObservedRequest } from './describe-agent.ts';
export { describeAgent } from './describe-agent.ts';
export type {
  Agent,
  AgentCas,
  AgentEvent,
  AgentPackage,
  AgentReply,
  AgentRequest,
  ChildOutcome,
  PackageDescriptor,
  Usage,
} from '../contract.ts';
