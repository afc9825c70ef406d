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

/** What an answer has used: `input` is all that the model was given, with what caches had of it, or got. */
export type Tokens = { input: number; output: number; cacheRead: number; cacheWrite: number };

/** What an answer has used whose move says nothing of it. */
export const defaultTokens: Tokens = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 };

/** What a model says: text, or a tool to call; and what it counts for that. */
export type Move = ({ text: string } | { tool: string; arguments: JsonObject }) & { tokens?: Partial<Tokens> };
