import type { NodeHash } from '../cas/hash.ts';
import { encodeNode, type EncodedNode } from '../cas/node.ts';
import type { NodeFile } from '../cas/node-tree.ts';
import { pathName } from '../cas/path-name.ts';
import type { JsonObject } from '../json.ts';
import { builtIn, encodeTyped } from '../schema/built-in.ts';
import type { TurnTokens } from '../schema/built-in/react.ts';
import { contentNode } from './thread-draft.ts';

/** What a part of a turn is that is neither its input nor what it says to others; the name of its file ends in it. */
export type PartKind = 'thought' | 'plan' | 'refusal' | 'note';

/** How an agent came to its reply, as the engine hands it over. */
export type TraceDraft = { turns: readonly TurnDraft[]; durationMs: number };

/** One exchange with the model. */
export type TurnDraft = {
  /** What the model was told that it was not told before. */
  input: string;
  output: string;
  parts: readonly { kind: PartKind; text: string }[];
  toolCalls: readonly ToolCallDraft[];
  tokens: TurnTokens;
  /** Absent where the agent does not say. */
  costUsd?: number;
  startedAtMs: number;
  latencyMs: number;
};

/** One call of a tool, with its arguments as text, mostly JSON. */
export type ToolCallDraft = { name: string; arguments: string; result: string; isError: boolean; durationMs: number };

/** The folder of a step's trace. */
export const TRACE_FOLDER = 'trace';

/** The folder of a turn, counted from 1. */
export function turnFolder(number: number): string {
  return `${TRACE_FOLDER}/${String(number).padStart(3, '0')}`;
}

/**
 * Encodes a trace: the files that it is stored as, and the hash of its session.
 *
 * Which kind a part is of, and whether a tool failed, is said by the names of their files.
 * @param agent the agent's record, which the session links to
 */
export function traceFiles(trace: TraceDraft, role: string, agent: NodeHash): { files: NodeFile[]; session: NodeHash } {
  const files: NodeFile[] = [];
  const add = (path: string, node: EncodedNode): NodeHash => {
    files.push({ path, node });
    return node.hash;
  };
  const turns = trace.turns.map((turn, place) => addTurn(turnFolder(place + 1), turn, add));
  const totalTokens = trace.turns.reduce((sum, { tokens }) => sum + tokens.input + tokens.output, 0);
  const payload: JsonObject = { agent, role, turns, totalTokens, durationMs: trace.durationMs };
  const session = add(`${TRACE_FOLDER}/session.json`, encodeNode(builtIn['react-session'], payload));
  return { files, session };
}

type Add = (path: string, node: EncodedNode) => NodeHash;

function addTurn(folder: string, turn: TurnDraft, add: Add): NodeHash {
  const parts = turn.parts.map(({ kind, text }, place) =>
    add(`${folder}/parts/${place + 1}-${kind}.md`, contentNode(text)),
  );
  const payload: JsonObject = {
    input: add(`${folder}/input.md`, contentNode(turn.input)),
    output: add(`${folder}/output.md`, contentNode(turn.output)),
    toolCalls: turn.toolCalls.map((call, place) => addCall(`${folder}/calls/${place + 1}-`, call, add)),
    ...(parts.length > 0 && { parts }),
    tokens: turn.tokens,
    ...(turn.costUsd !== undefined && { costUsd: turn.costUsd }),
    startedAtMs: turn.startedAtMs,
    latencyMs: turn.latencyMs,
  };
  return add(`${folder}/turn.json`, encodeTyped('react-turn', payload));
}

function addCall(prefix: string, call: ToolCallDraft, add: Add): NodeHash {
  const path = prefix + pathName(call.name);
  const payload: JsonObject = {
    name: call.name,
    arguments: add(`${path}.arguments.md`, contentNode(call.arguments)),
    result: add(`${path}.${call.isError ? 'error' : 'result'}.md`, contentNode(call.result)),
    durationMs: call.durationMs,
  };
  return add(`${path}.json`, encodeNode(builtIn['react-tool-call'], payload));
}
