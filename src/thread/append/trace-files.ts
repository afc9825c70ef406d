import type { NodeHash } from '../../cas/hash.ts';
import { encodeNode, type EncodedNode } from '../../cas/node.ts';
import type { NodeFile } from '../../cas/node-tree.ts';
import { pathName } from '../../cas/path-name.ts';
import type { JsonObject } from '../../json.ts';
import { builtIn } from '../../schema/built-in.ts';
import type { TurnTokens } from '../../schema/built-in/react.ts';
import { contentNode } from './draft-commit.ts';

/** The kind of a part of a turn other than input and output. Its file is named after it. */
export type PartKind = 'thought' | 'plan' | 'refusal' | 'note';

/** The trace of a turn, as the engine hands it over. */
export type TraceDraft = { turns: readonly TurnDraft[]; durationMs: number };

/** One exchange with the model. */
export type TurnDraft = {
  /** The new part of the model's input. */
  input: string;
  output: string;
  parts: readonly { kind: PartKind; text: string }[];
  toolCalls: readonly ToolCallDraft[];
  tokens: TurnTokens;
  /** Absent if the agent does not report it. */
  costUsd?: number;
  startedAtMs: number;
  latencyMs: number;
};

/** One call of a tool. The arguments are text, in most cases JSON. */
export type ToolCallDraft = { name: string; arguments: string; result: string; isError: boolean; durationMs: number };

/** The folder of a step's trace. */
export const TRACE_FOLDER = 'trace';

/** The folder of a turn, counted from 1. */
export function turnFolder(number: number): string {
  return `${TRACE_FOLDER}/${String(number).padStart(3, '0')}`;
}

/**
 * Encodes a trace: its files, and the hash of its session. The names of files say the kind of a part, and whether a tool
 * failed.
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
  return add(`${folder}/turn.json`, encodeNode(builtIn['react-turn'], payload));
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
