import type { AgentEvent } from '../../agent/contract.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Telling } from '../engine-context.ts';
import type { AgentTold } from '../events.ts';
import { KeptText } from './truncated-text.ts';
import { RedactingEvents, type Redaction } from '../redact/redaction.ts';
import { TraceRecorder } from './trace-recorder.ts';
import type { Lease } from '../leases/lease.ts';
import { findBudgetExceeded, type Allowance } from '../limits/limits.ts';
import { BudgetExceeded, type TurnClock } from '../limits/turn-clock.ts';

/** A turn, or a question, that is listened to. */
export type ListenedTurn = {
  clock: TurnClock;
  /** The budgets that the turn must not exceed while it runs. */
  allowance: Allowance;
  /** Records the process groups that work for the agent; absent where no lease is held. */
  lease: Pick<Lease, 'setProcessGroup'> | undefined;
  /** Takes secrets out of what is heard, before anything is kept of it or told. */
  redaction: Redaction;
  /** Told what the try has used, whenever that changes. */
  onUsage?: (usage: Usage) => void;
  /** Told of the session in which the agent answers. */
  onSession?: (id: string) => void;
};

/** How much of what an agent said is kept for the day its turn is cut off: the newest, in bytes. */
const SAID_BYTES = 256 * 1024;

/** Hears all that an agent reports in a turn: for the clocks, for those who watch, for the trace. */
export class TurnListener {
  readonly trace: TraceRecorder;
  readonly #engine: Telling;
  readonly #place: { thread: ThreadId; role: string };
  readonly #turn: ListenedTurn;
  readonly #redacting: RedactingEvents;
  #said: KeptText = emptyText();
  /** What the tries that are over have used. */
  #used: Usage | null = null;
  /** Whether the agent has said or done anything in any try: what is no sign of life alone. */
  hasHeardAnswer = false;
  /** The session that the agent has put its newest prompt into, where it says so. */
  session: string | undefined;
  /** Whether the agent marks the turns of its model in this try. */
  #marksTurns = false;
  /** Whether a request of the agent may be out whose cost it has not reported. */
  #isAsking = false;
  #toldUsed = '';
  #toldSession: string | undefined;

  constructor(engine: Telling, place: { thread: ThreadId; role: string }, turn: ListenedTurn) {
    this.#engine = engine;
    this.#place = place;
    this.#turn = turn;
    this.#redacting = new RedactingEvents(turn.redaction);
    this.trace = new TraceRecorder(engine.repository.now);
  }

  /** The newest of what the agent has said in this try. */
  get said(): string {
    this.#passOn(this.#redacting.end());
    return this.#said.toString();
  }

  /** What this try has used so far; at least that, if a request is out. `undefined` if the agent has reported nothing. */
  get used(): Usage | undefined {
    const { usage } = this.trace;
    if (!this.#isAsking) return usage;
    return { inputTokens: 0, outputTokens: 0, turns: 0, ...usage, isAtLeast: true };
  }

  startTry(prompt: string): void {
    this.#said = emptyText();
    this.#marksTurns = false;
    this.#isAsking = false;
    this.#toldUsed = '';
    this.trace.startTry(prompt);
  }

  /** The try is over, and has used so much. */
  endTry(usage: Usage | undefined): void {
    this.#passOn(this.#redacting.end());
    this.trace.endTry(usage);
    this.#used = addUsage(this.#used, usage);
  }

  hear(event: AgentEvent): void {
    const { clock } = this.#turn;
    clock.touch();
    this.hasHeardAnswer ||= isAnswer(event);
    const before = amountOf(this.trace.usage);
    this.#passOn(this.#redacting.hear(event));
    this.#noteRequest(event, amountOf(this.trace.usage) !== before);
    if (event.kind === 'session') this.session = event.session;
    this.#tellOwner();
    if (event.kind === 'usage' || event.kind === 'turn-end') this.#checkBudget();
    if (event.kind !== 'process-group') return;
    try {
      this.#turn.lease?.setProcessGroup(event.pgid);
    } catch (error) {
      // No process would find this group after a crash, so the turn ends while the group is known.
      clock.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Follows whether a request is out. An agent that marks no turns is asking from its prompt on, and again when it goes on. */
  #noteRequest({ kind }: AgentEvent, hasReported: boolean): void {
    if (kind === 'turn-start') this.#marksTurns = true;
    if (kind === 'turn-end' || hasReported) this.#isAsking = false;
    else if (kind === 'turn-start' || kind === 'session') this.#isAsking = true;
    else if (!this.#marksTurns && this.trace.usage !== undefined) this.#isAsking ||= isWork(kind);
  }

  #tellOwner(): void {
    const { onUsage, onSession } = this.#turn;
    const { used, session } = this;
    const text = used === undefined ? '' : JSON.stringify(used);
    if (used !== undefined && text !== this.#toldUsed) onUsage?.(used);
    this.#toldUsed = text;
    // One that was not heard may not even have its prompt.
    if (session === undefined || session === this.#toldSession || !this.hasHeardAnswer) return;
    this.#toldSession = session;
    onSession?.(session);
  }

  #passOn(events: readonly AgentEvent[]): void {
    for (const event of events) {
      if (event.kind === 'text') this.#said.add(event.text);
      this.trace.record(event);
      if (event.kind !== 'process-group' && event.kind !== 'session')
        this.#engine.tell({ ...this.#place, ...asTold(event) });
    }
  }

  #checkBudget(): void {
    const usage = addUsage(this.#used, this.trace.usage);
    const exceeded = usage === null ? undefined : findBudgetExceeded(this.#turn.allowance, usage);
    if (exceeded !== undefined) this.#turn.clock.fail(new BudgetExceeded(exceeded));
  }
}

function emptyText(): KeptText {
  return new KeptText({ head: 0, tail: SAID_BYTES });
}

function isAnswer(event: AgentEvent): boolean {
  if (event.kind === 'usage') return event.usage.turns > 0 || (event.usage.costUsd ?? 0) > 0;
  return isWork(event.kind) || event.kind === 'turn-end' || event.kind === 'tool-result';
}

/** Tells whether an event is the work of a model. */
function isWork(kind: AgentEvent['kind']): boolean {
  return ['text', 'thought', 'plan', 'tool-call'].includes(kind);
}

/** What a usage says, for comparing: a sign of life that reports nothing more is no report. */
function amountOf(usage: Usage | undefined): string {
  const { inputTokens = 0, outputTokens = 0, turns = 0, costUsd = 0, isAtLeast = false } = usage ?? {};
  return [inputTokens, outputTokens, turns, costUsd, isAtLeast].join(' ');
}

type Told = AgentTold extends infer T ? (T extends AgentTold ? Omit<T, 'thread' | 'role'> : never) : never;

/** What is told of an agent; the others are for the engine alone. */
type ToldEvent = Exclude<AgentEvent, { kind: 'process-group' | 'session' }>;

const names: Readonly<Record<ToldEvent['kind'], AgentTold['event']>> = {
  'turn-start': 'agent.turn',
  'turn-end': 'agent.turn-ended',
  text: 'agent.text',
  thought: 'agent.thought',
  plan: 'agent.plan',
  'tool-call': 'agent.tool',
  'tool-result': 'agent.result',
  refusal: 'agent.refusal',
  pause: 'agent.pause',
  usage: 'agent.usage',
};

function asTold({ kind, ...facts }: ToldEvent): Told {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Each kind's facts are those of the event of its name.
  return { event: names[kind], ...facts } as Told;
}
