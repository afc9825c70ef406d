import type { TextOption } from './command.ts';

/** The option that lets another agent than the configured one take the next turn. */
export const agentOption: TextOption = {
  value: '<agent>',
  summary: 'let this agent of the configuration take the next turn',
  candidates: 'agent',
};

/** The option as the engine takes it. */
export function wantedAgent(agent: string | undefined): { agent?: string } {
  return agent === undefined ? {} : { agent };
}
