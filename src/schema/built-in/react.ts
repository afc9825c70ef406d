import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { anyText, builtInObject, closedObject, count, ref, refList, timeMs, word } from './schema-parts.ts';
import { costUsd } from './usage.ts';

/** The trace of one step: how the agent came to its reply. */
export type ReactSession = {
  /** The {@link AgentRecord}. */
  agent: NodeHash;
  role: string;
  /** The {@link ReactTurn}s, oldest first. */
  turns: NodeHash[];
  totalTokens: number;
  durationMs: number;
};

export const reactSessionSchema: JsonObject = builtInObject('react-session', 'How an agent came to its reply.', {
  agent: ref('agent'),
  role: word,
  turns: refList('react-turn'),
  totalTokens: count,
  durationMs: count,
});

/** One exchange with the model. */
export type ReactTurn = {
  /** What it was given, a {@link Content}. */
  input: NodeHash;
  /** What it said, a {@link Content}. */
  output: NodeHash;
  /** The {@link ReactToolCall}s, in order. */
  toolCalls: NodeHash[];
  /** Thoughts and plans, each a {@link Content}. */
  parts?: NodeHash[];
  tokens: TurnTokens;
  /** In US dollars; absent where the agent does not say. */
  costUsd?: number;
  /** In ms since 1970. */
  startedAtMs: number;
  latencyMs: number;
};

export const reactTurnSchema: JsonObject = builtInObject(
  'react-turn',
  'One exchange with the model: what it was given, what it said, and the tools it called.',
  {
    input: ref('content'),
    output: ref('content'),
    toolCalls: refList('react-tool-call'),
    parts: refList('content'),
    tokens: closedObject({ input: count, output: count, cacheRead: count, cacheWrite: count }, [
      'cacheRead',
      'cacheWrite',
    ]),
    costUsd,
    startedAtMs: timeMs,
    latencyMs: count,
  },
  ['parts', 'costUsd'],
);

/** The tokens of one exchange; those of a cache are absent where the agent does not say. */
export type TurnTokens = { input: number; output: number; cacheRead?: number; cacheWrite?: number };

/** One call of a tool. */
export type ReactToolCall = {
  name: string;
  /** A {@link Content}; mostly JSON. */
  arguments: NodeHash;
  /** A {@link Content}. */
  result: NodeHash;
  durationMs: number;
};

export const reactToolCallSchema: JsonObject = builtInObject(
  'react-tool-call',
  'A tool that was called, what it was given and what it gave back.',
  { name: anyText, arguments: ref('content'), result: ref('content'), durationMs: count },
);
