import type { ModelMessage, ToolModelMessage } from 'ai';

/** What was said with the model in the attempts of a turn. It is stored nowhere, and ends with the agent. */
export type Conversation = {
  messages: ModelMessage[];
  /** What the first attempt was told. */
  readonly prompt: string;
  /** The answers of the model so far. */
  turns: number;
  /** What they cost, in US dollars, by the configured price. */
  costUsd: number;
};

/** What a prompt adds to a conversation: the corrections without the prompt that the model knows. */
export function newInput({ prompt: known }: Conversation, prompt: string): string {
  const isRepeated = prompt.startsWith(known) && prompt.length > known.length;
  return isRepeated ? prompt.slice(known.length).trimStart() : prompt;
}

/** How many of the newest messages stay as they are. */
const KEPT_MESSAGES = 6;
const PLACEHOLDER = '[left out, since the conversation grew long; call the tool again if you need it]';

/**
 * Makes room in a conversation that has grown too long: results of tools, the oldest first, are left out and say so.
 *
 * What was asked, what the model said and the newest messages stay whole, so the outcome may still be too long.
 * @param maxCharacters from which length on; characters of the JSON of all messages
 */
export function fitMessages(messages: readonly ModelMessage[], maxCharacters: number): ModelMessage[] {
  let excess = messages.reduce((sum, message) => sum + lengthOf(message), 0) - maxCharacters;
  return messages.map((message, index) => {
    if (excess <= 0 || message.role !== 'tool' || index >= messages.length - KEPT_MESSAGES) return message;
    const shorter = withoutResults(message);
    excess -= lengthOf(message) - lengthOf(shorter);
    return shorter;
  });
}

function withoutResults(message: ToolModelMessage): ToolModelMessage {
  const content = message.content.map((part) =>
    part.type === 'tool-result' ? { ...part, output: { type: 'text' as const, value: PLACEHOLDER } } : part,
  );
  return { ...message, content };
}

function lengthOf(message: ModelMessage): number {
  return JSON.stringify(message.content).length;
}
