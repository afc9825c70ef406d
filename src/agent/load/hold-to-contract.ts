import { AgentBroken } from '../agent-errors.ts';
import { eventFaults, isKnownEvent, replyFaults } from './contract-faults.ts';
import type { Agent, AgentEvent, AgentRequest } from '../contract.ts';

/**
 * Wraps an agent of an npm package, so that only what the contract describes comes out of it.
 *
 * An event that is not as the contract has it goes no further, and neither does the turn's reply: the turn then rejects.
 * Events of kinds that this version does not know are left out, and so are events after the end of the turn.
 * @param reference the package, for messages
 * @returns an agent whose turns reject with `AgentBroken` where the contract is broken
 */
export function holdToContract(agent: Agent, reference: string): Agent {
  return {
    answers: agent.answers === true,
    close: async () => agent.close?.(),
    async run(request: AgentRequest) {
      let broken: AgentBroken | undefined;
      let isOver = false;
      const emit = (event: AgentEvent): void => {
        if (isOver || !isKnownEvent(event)) return;
        const faults = eventFaults(event);
        // Not thrown here: agents emit events from callbacks whose errors nothing catches, and uwf would end.
        if (faults.length === 0) request.emit(event);
        else broken ??= contractBroken(reference, `told an event '${event.kind}'`, faults);
      };
      try {
        const reply = await agent.run({ ...request, emit });
        const faults = replyFaults(reply);
        if (faults.length > 0) throw contractBroken(reference, 'gave a reply', faults);
        if (broken !== undefined) throw broken;
        return reply;
      } finally {
        isOver = true;
      }
    },
  };
}

function contractBroken(reference: string, what: string, faults: readonly string[]): AgentBroken {
  return new AgentBroken(`the agent package '${reference}' ${what} that breaks the contract: ${faults.join('; ')}`, {
    hint: "look for a newer version, or tell its author of 'uwf/agent-contract'",
  });
}
