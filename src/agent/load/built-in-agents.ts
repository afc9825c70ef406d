import type { AgentPackage } from '../contract.ts';

/** The agents that uwf brings along; each module is loaded when its agent is asked for. */
export const builtInAgents: Readonly<Record<string, () => Promise<AgentPackage>>> = {
  acp: () => import('../acp/acp-agent.ts'),
  command: () => import('../command/command-agent.ts'),
  human: () => import('../human/human-agent.ts'),
  llm: () => import('../llm/llm-agent.ts'),
  scripted: () => import('../scripted/scripted-agent.ts'),
  workflow: () => import('../workflow/workflow-agent.ts'),
};
