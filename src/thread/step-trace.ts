import { type IndexEntry, readNodeAt } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { NodeFile } from '../cas/node-tree.ts';
import { type EncodedNode, encodeNode } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import { UwfError } from '../errors.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { builtIn, payloadOf, type Payloads } from '../schema/built-in.ts';
import type { ReactSession, TurnTokens } from '../schema/built-in/workflow.ts';
import { contentNode } from './draft-commit.ts';
import { CorruptThread } from './thread-errors.ts';
import type { CommitOf } from './thread-state.ts';

/** A turn of a trace, read back: its place, counted from 1, and its hash. */
export type TracedTurn = TurnDraft & { number: number; hash: NodeHash };

/** How an agent came to its reply, or a part of that. */
export type Trace = {
  session: ReactSession;
  /** Those that were asked for, oldest first. */
  turns: TracedTurn[];
};

/**
 * Reads the trace of a step or a suspension; `undefined` where the agent left none.
 *
 * Reads the session and the turns that are asked for, and nothing of the others.
 * @param which.limit only the last so many
 * @param which.before only those in front of this one: its number, or the beginning of its hash
 * @throws {UwfError} `unknown-turn` if there is none like `which.before`
 */
export async function readTrace(
  repository: Repository,
  commit: CommitOf<'step' | 'suspend'>,
  which: { limit?: number | undefined; before?: string | undefined } = {},
): Promise<Trace | undefined> {
  if (commit.node.react === null) return undefined;
  const reader = new TraceReader(repository, commit);
  const session = await reader.read(commit.node.react, 'react-session');
  const end = which.before === undefined ? session.turns.length : placeOf(session.turns, which.before);
  const start = which.limit === undefined ? 0 : Math.max(end - which.limit, 0);
  const turns: TracedTurn[] = [];
  for (let place = start; place < end; place += 1) {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The place is within the list.
    const hash = session.turns[place] as NodeHash;
    const number = place + 1;
    turns.push({ number, hash, ...(await reader.readTurn(hash, turnFolder(number))) });
  }
  return { session, turns };
}

function placeOf(turns: readonly NodeHash[], text: string): number {
  const isNumber = /^\d{1,6}$/.test(text);
  const place = isNumber ? Number(text) - 1 : turns.findIndex((hash) => hash.startsWith(text.toUpperCase()));
  if (turns[place] === undefined) {
    const hint = `it has ${turns.length}; name one by its number or by its hash`;
    throw new UwfError(`the trace has no turn '${text}'`, { code: 'unknown-turn', kind: 'usage', hint });
  }
  return place;
}

class TraceReader {
  readonly #repository: Repository;
  readonly #commit: CommitOf<'step' | 'suspend'>;
  readonly #byHash = new Map<string, IndexEntry>();
  /** The paths of each second-level folder, such as `trace/001`, relative to it. */
  readonly #byFolder = new Map<string, string[]>();

  constructor(repository: Repository, commit: CommitOf<'step' | 'suspend'>) {
    this.#repository = repository;
    this.#commit = commit;
    for (const entry of commit.index) {
      this.#byHash.set(entry.hash, entry);
      const [outer, inner, ...rest] = entry.path.split('/');
      const folder = `${outer}/${inner}`;
      const names = this.#byFolder.get(folder) ?? [];
      names.push(rest.join('/'));
      this.#byFolder.set(folder, names);
    }
  }

  async read<Name extends keyof Payloads>(hash: NodeHash, type: Name): Promise<Payloads[Name]> {
    const entry = this.#byHash.get(hash);
    if (!entry) throw new CorruptThread(this.#commit.id, `its trace names ${hash}, which is not there`);
    const node = await readNodeAt(this.#repository, entry);
    if (node.type !== builtIn[type]) throw new CorruptThread(this.#commit.id, `${entry.path} is no ${type}`);
    return payloadOf(node, type);
  }

  async readTurn(hash: NodeHash, folder: string): Promise<TurnDraft> {
    const turn = await this.read(hash, 'react-turn');
    const names = this.#byFolder.get(folder) ?? [];
    const parts: { kind: PartKind; text: string }[] = [];
    for (const [place, part] of (turn.parts ?? []).entries()) {
      parts.push({ kind: kindOf(names, place + 1), text: await this.#readText(part) });
    }
    const toolCalls = [];
    for (const [place, call] of turn.toolCalls.entries()) toolCalls.push(await this.#readCall(call, names, place + 1));
    const { tokens, costUsd, startedAtMs, latencyMs } = turn;
    return {
      input: await this.#readText(turn.input),
      output: await this.#readText(turn.output),
      parts,
      toolCalls,
      tokens,
      ...(costUsd !== undefined && { costUsd }),
      startedAtMs,
      latencyMs,
    };
  }

  async #readCall(hash: NodeHash, names: readonly string[], number: number): Promise<TurnDraft['toolCalls'][number]> {
    const call = await this.read(hash, 'react-tool-call');
    const isError = names.some((name) => name.startsWith(`calls/${number}-`) && name.endsWith('.error.md'));
    const { name, durationMs } = call;
    const given = await this.#readText(call.arguments);
    return { name, arguments: given, result: await this.#readText(call.result), isError, durationMs };
  }

  async #readText(hash: NodeHash): Promise<string> {
    return (await this.read(hash, 'content')).text;
  }
}

const namedKinds: readonly PartKind[] = ['plan', 'refusal', 'note'];

function kindOf(names: readonly string[], number: number): PartKind {
  return namedKinds.find((kind) => names.includes(`parts/${number}-${kind}.md`)) ?? 'thought';
}

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
