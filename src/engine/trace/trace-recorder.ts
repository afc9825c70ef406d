import type { AgentEvent, Usage } from '../../agent/contract.ts';
import type { PartKind, ToolCallDraft, TraceDraft, TurnDraft } from '../../thread/step-trace.ts';
import { Budget, type KeptBytes, KeptText } from './truncated-text.ts';

/** How much of what an agent reports is kept. */
export type TraceLimits = {
  /** Limit of one text: the output of a turn, a thought, a tool's result. */
  text: KeptBytes;
  /** Limit of all texts of a trace together. */
  totalBytes: number;
  /** How many turns, calls, thoughts and the like, each of which becomes several nodes, files and lines of an index. */
  maxItems: number;
};

const KIB = 1024;

/** As much as a long session of a coding agent needs, and a fraction of what a process may use. */
const TRACE_LIMITS: TraceLimits = {
  text: { head: 192 * KIB, tail: 64 * KIB },
  totalBytes: 12 * KIB * KIB,
  maxItems: 5_000,
};

const NO_RESULT = '[uwf: no result was reported]\n';

/** Events that say more than the reply does. Without any of them there is no trace. */
const tracedKinds: ReadonlySet<string> = new Set([
  'turn-start',
  'thought',
  'plan',
  'refusal',
  'tool-call',
  'tool-result',
]);

/** The turn that goes on. Its calls may get their results when it is over. */
type OpenTurn = {
  input: string;
  output: KeptText;
  parts: { kind: PartKind; text: KeptText }[];
  calls: OpenCall[];
  used: Share;
  startedAtMs: number;
  /** When the model last said something, or when the agent says it ended. */
  endedAtMs: number;
  isEnded: boolean;
};

type OpenCall = { -readonly [Field in keyof ToolCallDraft]: ToolCallDraft[Field] };

/**
 * Makes a trace of what an agent reports while it takes its turn, over all tries.
 *
 * Turns begin where the agent says so. For one that says nothing of turns, one begins with the first event of a try, and
 * again with whatever comes after a tool's result. Of what is reported no more is kept than the limits allow, and what
 * is left out is said in its place; memory does not grow beyond that.
 */
export class TraceRecorder {
  readonly #now: () => number;
  readonly #limits: TraceLimits;
  readonly #bytes: Budget;
  readonly #items: Budget;
  readonly #startedAtMs: number;
  readonly #turns: TurnDraft[] = [];
  /** Calls that have no result yet, by the agent's ids. */
  readonly #calls = new Map<string, OpenCall>();
  readonly #leftOut = { turns: 0, parts: 0, calls: 0 };
  #turn: OpenTurn | undefined;
  #isNewTry = true;
  /** The input of the next turn, where the agent does not report it. */
  #nextInput = '';
  #nextStartMs: number;
  #marksTurns = false;
  #hasResult = false;
  #isWorthKeeping = false;
  #shares = new UsageShares();

  constructor(now: () => number, limits: TraceLimits = TRACE_LIMITS) {
    this.#now = now;
    this.#limits = limits;
    this.#bytes = new Budget(limits.totalBytes);
    this.#items = new Budget(limits.maxItems);
    this.#startedAtMs = now();
    this.#nextStartMs = this.#startedAtMs;
  }

  /** The agent is asked, or asked again. */
  startTry(prompt: string): void {
    this.#isNewTry = true;
    this.#nextInput = prompt;
    this.#nextStartMs = this.#now();
    this.#marksTurns = false;
    this.#hasResult = false;
    this.#shares = new UsageShares();
    this.#calls.clear();
  }

  /** The usage of this try as the agent reported it, at once or turn by turn; `undefined` if it did not. */
  get usage(): Usage | undefined {
    return this.#shares.told;
  }

  /** Gives what a try has used, and no turn has claimed yet, to its last turn. */
  endTry(usage: Usage | undefined): void {
    if (usage) this.#addShare(this.#shares.tell(usage));
  }

  record(event: AgentEvent): void {
    this.#isWorthKeeping ||= tracedKinds.has(event.kind);
    switch (event.kind) {
      case 'turn-start':
        this.#marksTurns = true;
        return this.#startTurn(event.input);
      case 'turn-end':
        return this.#endTurn(event.usage);
      case 'text':
        return this.#speaking()?.output.add(event.text);
      case 'thought':
      case 'plan':
      case 'refusal':
        return this.#addPart(event.kind, event.text);
      case 'tool-call':
        return this.#addCall(event.id, event.name, event.arguments);
      case 'tool-result':
        return this.#addResult(event);
      case 'usage':
        return this.#addShare(this.#shares.tell(event.usage));
      case 'pause':
      case 'session':
      case 'process-group':
    }
  }

  /** The trace so far; `undefined` where the agent reported nothing but its reply. */
  finish(): TraceDraft | undefined {
    if (!this.#isWorthKeeping) return undefined;
    const turns = [...this.#turns];
    const note = this.#noteOnLeftOut();
    if (this.#turn) {
      const last = draftOf(this.#turn);
      turns.push(note === undefined ? last : { ...last, parts: [...last.parts, note] });
    }
    return { turns, durationMs: Math.max(this.#now() - this.#startedAtMs, 0) };
  }

  #startTurn(input: string): void {
    const startedAtMs = this.#marksTurns ? this.#now() : this.#nextStartMs;
    const isPrompt = this.#isNewTry && input === this.#nextInput;
    this.#isNewTry = false;
    this.#nextInput = '';
    this.#hasResult = false;
    this.#shares.startTurn();
    if (this.#turn) {
      // Without room, output from now on is added to the last turn that is kept.
      if (!this.#takeRoom('turns')) return;
      this.#turns.push(draftOf(this.#turn));
    }
    this.#turn = {
      // The prompt is there anyway, and is kept as it is: its file is the prompt's own.
      input: isPrompt ? input : this.#kept(input).toString(),
      output: this.#kept(''),
      parts: [],
      calls: [],
      used: {},
      startedAtMs,
      endedAtMs: startedAtMs,
      isEnded: false,
    };
  }

  #endTurn(usage: Usage | undefined): void {
    if (!this.#turn) return;
    this.#turn.endedAtMs = this.#now();
    this.#turn.isEnded = true;
    this.#addShare(this.#shares.endTurn(usage));
  }

  /** The turn in which the model says something now. */
  #speaking(): OpenTurn | undefined {
    if (this.#isNewTry || (!this.#marksTurns && this.#hasResult)) this.#startTurn(this.#nextInput);
    if (this.#turn && !this.#turn.isEnded) this.#turn.endedAtMs = this.#now();
    return this.#turn;
  }

  #addPart(kind: PartKind, text: string): void {
    const turn = this.#speaking();
    const last = turn?.parts.at(-1);
    // A thought arrives in pieces; of a plan that is told whole each time the newest counts.
    if (last?.kind === 'thought' && kind === 'thought') return last.text.add(text);
    if (last?.kind === 'plan' && kind === 'plan') turn?.parts.pop();
    else if (!this.#takeRoom('parts')) return;
    turn?.parts.push({ kind, text: this.#kept(text) });
  }

  #addCall(id: string, name: string, args: unknown): void {
    const open = this.#calls.get(id);
    if (open) {
      // Told again, now that more is known of it.
      open.name = wellFormed(name);
      open.arguments = this.#kept(textOf(args)).toString();
      return;
    }
    const turn = this.#speaking();
    if (!this.#takeRoom('calls')) return;
    const given = this.#kept(textOf(args)).toString();
    const call = { name: wellFormed(name), arguments: given, result: NO_RESULT, isError: true, durationMs: 0 };
    turn?.calls.push(call);
    this.#calls.set(id, call);
  }

  #addResult(event: Extract<AgentEvent, { kind: 'tool-result' }>): void {
    const call = this.#calls.get(event.id);
    this.#calls.delete(event.id);
    this.#hasResult = true;
    this.#nextStartMs = this.#now();
    if (!call) return;
    call.result = this.#kept(event.result).toString();
    call.isError = event.isError === true;
    call.durationMs = whole(event.durationMs);
  }

  /** Takes room for one item. An item that gets none is counted. */
  #takeRoom(kind: 'turns' | 'parts' | 'calls'): boolean {
    const hasRoom = this.#items.take(1) > 0;
    if (!hasRoom) this.#leftOut[kind] += 1;
    return hasRoom;
  }

  #addShare(share: Share | undefined): void {
    if (this.#turn && share) this.#turn.used = plus(this.#turn.used, share);
  }

  #kept(text: string): KeptText {
    const kept = new KeptText(this.#limits.text, this.#bytes);
    if (text !== '') kept.add(text);
    return kept;
  }

  #noteOnLeftOut(): { kind: 'note'; text: string } | undefined {
    const { turns, parts, calls } = this.#leftOut;
    if (turns + parts + calls === 0) return undefined;
    const text = `uwf left out of this trace, which was full: ${turns} turns, ${calls} tool calls, ${parts} thoughts and the like\n`;
    return { kind: 'note', text };
  }
}

function draftOf(turn: OpenTurn): TurnDraft {
  const { input, output, parts, calls, used, startedAtMs, endedAtMs } = turn;
  return {
    input,
    output: output.toString(),
    parts: parts.map(({ kind, text }) => ({ kind, text: text.toString() })),
    toolCalls: calls,
    tokens: {
      input: whole(used.inputTokens ?? 0),
      output: whole(used.outputTokens ?? 0),
      ...(used.cacheReadTokens !== undefined && { cacheRead: whole(used.cacheReadTokens) }),
      ...(used.cacheWriteTokens !== undefined && { cacheWrite: whole(used.cacheWriteTokens) }),
    },
    ...(used.costUsd !== undefined && { costUsd: Math.max(used.costUsd, 0) }),
    startedAtMs,
    latencyMs: Math.max(endedAtMs - startedAtMs, 0),
  };
}

/** Half characters make no node. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString();
}

function textOf(args: unknown): string {
  return typeof args === 'string' ? args : JSON.stringify(args, null, 2);
}

/** A count as nodes hold it, whatever an agent has told. */
function whole(count: number): number {
  return Number.isFinite(count) ? Math.max(Math.round(count), 0) : 0;
}

const names = ['inputTokens', 'outputTokens', 'costUsd', 'cacheReadTokens', 'cacheWriteTokens'] as const;

/** The usage of one turn of a model. A value is absent if the agent does not report it. */
type Share = { [Name in (typeof names)[number]]?: number };

/**
 * Divides what a try of an agent uses among the turns of its model.
 *
 * An agent says what a turn has used when it ends, or now and then what the whole try has used so far; what is told of
 * the try and no turn has claimed is the present turn's.
 */
class UsageShares {
  #endedTurns = 0;
  #given: Share = {};
  #givenToTurn: Share = {};
  /** The usage of the whole try as the agent reported it, at once or turn by turn; `undefined` if it did not. */
  told: Usage | undefined;

  startTurn(): void {
    this.#givenToTurn = {};
  }

  /** The present turn has ended and used so much; gives what is to be added to its share. */
  endTurn(usage: Usage | undefined): Share | undefined {
    this.#endedTurns += 1;
    if (!usage) return undefined;
    const share = this.#give(minus(usage, this.#givenToTurn));
    const { inputTokens = 0, outputTokens = 0, ...others } = this.#given;
    this.told = {
      inputTokens,
      outputTokens,
      turns: Math.max(this.told?.turns ?? 0, this.#endedTurns),
      ...others,
      ...((this.told?.isAtLeast ?? usage.isAtLeast) && { isAtLeast: true }),
    };
    return share;
  }

  /** The try has used so much until now; gives what of it is the present turn's. */
  tell(usage: Usage): Share {
    this.told = usage;
    return this.#give(each((name) => positive(minus(usage, this.#given)[name])));
  }

  #give(share: Share): Share {
    this.#given = plus(this.#given, share);
    this.#givenToTurn = plus(this.#givenToTurn, share);
    return share;
  }
}

/** Adds up two sums; what neither of them has is absent. */
function plus(a: Share, b: Share): Share {
  return each((name) => (a[name] === undefined ? b[name] : a[name] + (b[name] ?? 0)));
}

function minus(a: Share, b: Share): Share {
  return each((name) => (a[name] === undefined ? undefined : a[name] - (b[name] ?? 0)));
}

function each(count: (name: (typeof names)[number]) => number | undefined): Share {
  const sum: Share = {};
  for (const name of names) {
    const value = count(name);
    if (value !== undefined) sum[name] = value;
  }
  return sum;
}

function positive(count: number | undefined): number | undefined {
  return count === undefined ? undefined : Math.max(count, 0);
}
