import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { JsonObject } from '../../json.ts';
import {
  anyText,
  builtInObject,
  closedObject,
  costUsd,
  count,
  isSet,
  objectId,
  redacted,
  type Redacted,
  ref,
  refList,
  timeMs,
  type Usage,
  usageOrNull,
  word,
} from './schema-parts.ts';

/** A text, stored as the text itself where it has no refs. */
export type Content = {
  text: string;
  /** Nodes that came with the text: what was put while it was made. Absent when there are none. */
  refs?: NodeHash[];
};

export const contentSchema: JsonObject = builtInObject(
  'content',
  'A text, and the nodes that came with it.',
  { text: anyText, refs: { ...refList(), minItems: 1 } },
  ['refs'],
);

/** A git object that a thread keeps: a commit of the code, a folder, a file. */
export type Artifact = {
  kind: 'commit' | 'tree' | 'blob';
  oid: ObjectId;
  /** Where it lies in the repository's work tree, if it does. */
  path?: string;
  /** For people. */
  title: string;
};

export const artifactSchema: JsonObject = builtInObject(
  'artifact',
  'A commit, folder or file of the repository that a thread keeps.',
  { kind: { enum: ['commit', 'tree', 'blob'] }, oid: objectId, path: word, title: anyText },
  ['path'],
);

/** A try that came to nothing. */
export type Attempt = {
  /** What the agent said, a {@link Content}. */
  content: NodeHash;
  /** Why it did not count, one line each; of a reply that was refused, as the agent was told. */
  errors: string[];
  /** null where the agent reports none. */
  usage: Usage | null;
  redacted?: Redacted;
  /**
   * Present if its turn was cut off before an outcome was stored. A later turn, or the end, of the thread has stored what it
   * used.
   */
  interrupted?: true;
};

export const attemptSchema: JsonObject = builtInObject(
  'attempt',
  'A reply that did not count, and why.',
  {
    content: ref('content'),
    errors: { type: 'array', items: anyText },
    usage: usageOrNull,
    redacted,
    interrupted: isSet,
  },
  ['redacted', 'interrupted'],
);

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
