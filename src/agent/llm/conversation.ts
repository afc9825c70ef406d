import type { ModelMessage } from 'ai';

import type { AgentRequest } from '../contract.ts';

/** How many turns' conversations an agent keeps: the newest. */
const KEPT = 4;

/** What was said with the model in the tries of one turn of a role. */
export type Conversation = {
  messages: ModelMessage[];
  /** What the first try was told. */
  readonly prompt: string;
};

/**
 * The conversations of an agent, so that a further try of a turn goes on where the last one stopped.
 *
 * They live as long as the agent does, which is one turn of a role: nothing of them is written anywhere, and a later visit
 * begins anew with a prompt that carries the context.
 */
export class Conversations {
  readonly #byStep = new Map<string, Conversation>();

  /**
   * The conversation of a request, and what it adds to it.
   * @returns `input` alone is new to the model: the corrections without the prompt that it knows
   */
  open({ stepDir, attempt, prompt }: AgentRequest): { conversation: Conversation; input: string } {
    const known = attempt > 0 ? this.#byStep.get(stepDir) : undefined;
    if (known !== undefined) {
      const isRepeated = prompt.startsWith(known.prompt) && prompt.length > known.prompt.length;
      return { conversation: known, input: isRepeated ? prompt.slice(known.prompt.length).trimStart() : prompt };
    }
    const conversation = { messages: [], prompt };
    this.#byStep.set(stepDir, conversation);
    for (const oldest of [...this.#byStep.keys()].slice(0, -KEPT)) this.#byStep.delete(oldest);
    return { conversation, input: prompt };
  }
}
