import type { JsonObject } from '../../src/json.ts';

/** What a model is asked, whatever the server's language. */
export type Conversation = {
  /** All prompts of the user, oldest first; what the agent itself adds about its surroundings is among them. */
  prompts: readonly string[];
  /** What the tools gave that were called since the last prompt, oldest first. */
  results: readonly string[];
  /** The names of the tools that may be called; none where the agent asks for something of its own, as a title. */
  tools: readonly string[];
};

/** What a model says: text, or a tool to call. */
export type Move = { text: string } | { tool: string; arguments: JsonObject };
