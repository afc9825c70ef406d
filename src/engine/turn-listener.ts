import type { AgentEvent, Usage } from '../agent/contract.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { EngineContext } from './context.ts';
import type { AgentTold } from './events.ts';
import { KeptText } from './kept-text.ts';
import { RedactingEvents } from './redacting-events.ts';
import type { Redaction } from './redaction.ts';
import { TraceRecorder } from './trace-recorder.ts';
import { BudgetExceeded, type TurnClock } from './turn-clock.ts';

/** Whose turn is listened to. */
export type ListenedTurn = {
  thread: ThreadId;
  role: string;
  clock: TurnClock;
  /** Says which budget the turn has gone beyond, by what it has used so far. */
  findExceeded: (usage: Usage) => string | undefined;
  onProcessGroup: (pgid: number) => void;
  /** Takes secrets out of what is heard, before anything is kept of it or told. */
  redaction: Redaction;
};

/** How much of what an agent said is kept for the day its turn is cut off: the newest, in bytes. */
const SAID_BYTES = 256 * 1024;

/** Hears all that an agent reports in a turn: for the clocks, for those who watch, for the trace. */
export class TurnListener {
  readonly trace: TraceRecorder;
  readonly #context: EngineContext;
  readonly #turn: ListenedTurn;
  readonly #redacting: RedactingEvents;
  #said: KeptText = emptyText();
  #hasHeardAnswer = false;

  constructor(context: EngineContext, turn: ListenedTurn) {
    this.#context = context;
    this.#turn = turn;
    this.#redacting = new RedactingEvents(turn.redaction);
    this.trace = new TraceRecorder(context.repository.now);
  }

  /** The newest of what the agent has said in this try. */
  get said(): string {
    this.#passOn(this.#redacting.end());
    return this.#said.toString();
  }

  /** Tells whether the agent has said or done anything in any try: what is no sign of life alone. */
  get hasHeardAnswer(): boolean {
    return this.#hasHeardAnswer;
  }

  startTry(prompt: string): void {
    this.#said = emptyText();
    this.trace.startTry(prompt);
  }

  /** The try is over, and has used so much. */
  endTry(usage: Usage | undefined): void {
    this.#passOn(this.#redacting.end());
    this.trace.endTry(usage);
  }

  hear(event: AgentEvent): void {
    const { clock } = this.#turn;
    clock.touch();
    this.#hasHeardAnswer ||= isAnswer(event);
    this.#passOn(this.#redacting.hear(event));
    if (event.kind === 'usage' || event.kind === 'turn-end') this.#checkBudget();
    if (event.kind !== 'process-group') return;
    try {
      this.#turn.onProcessGroup(event.pgid);
    } catch (error) {
      // Nobody would find these processes after a crash, so they are ended while somebody knows them.
      clock.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #passOn(events: readonly AgentEvent[]): void {
    const { thread, role } = this.#turn;
    for (const event of events) {
      if (event.kind === 'text') this.#said.add(event.text);
      this.trace.record(event);
      if (event.kind !== 'process-group') this.#context.tell({ thread, role, ...asTold(event) });
    }
  }

  #checkBudget(): void {
    const { usage } = this.trace;
    const exceeded = usage && this.#turn.findExceeded(usage);
    if (exceeded !== undefined) this.#turn.clock.fail(new BudgetExceeded(exceeded));
  }
}

function emptyText(): KeptText {
  return new KeptText({ head: 0, tail: SAID_BYTES });
}

function isAnswer(event: AgentEvent): boolean {
  if (event.kind === 'usage') return event.usage.turns > 0;
  return !['turn-start', 'refusal', 'pause', 'process-group'].includes(event.kind);
}

type Told = AgentTold extends infer T ? (T extends AgentTold ? Omit<T, 'thread' | 'role'> : never) : never;

const names: Readonly<Record<Exclude<AgentEvent['kind'], 'process-group'>, AgentTold['event']>> = {
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

function asTold({ kind, ...facts }: Exclude<AgentEvent, { kind: 'process-group' }>): Told {
  // Each kind's facts are those of the event of its name.
  return { event: names[kind], ...facts } as Told;
}
