import type { AgentEvent, Usage } from '../../agent/contract.ts';
import { addUsage } from '../../schema/built-in/usage.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';
import type { AgentTold } from '../events.ts';
import { KeptText } from './truncated-text.ts';
import { RedactingEvents } from '../redact/redacting-events.ts';
import type { Redaction } from '../redact/redaction.ts';
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
};

/** How much of what an agent said is kept for the day its turn is cut off: the newest, in bytes. */
const SAID_BYTES = 256 * 1024;

/** Hears all that an agent reports in a turn: for the clocks, for those who watch, for the trace. */
export class TurnListener {
  readonly trace: TraceRecorder;
  readonly #engine: EngineContext;
  readonly #place: { thread: ThreadId; role: string };
  readonly #turn: ListenedTurn;
  readonly #redacting: RedactingEvents;
  #said: KeptText = emptyText();
  /** What the tries that are over have used. */
  #used: Usage | null = null;
  /** Whether the agent has said or done anything in any try: what is no sign of life alone. */
  hasHeardAnswer = false;

  constructor(engine: EngineContext, place: { thread: ThreadId; role: string }, turn: ListenedTurn) {
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

  startTry(prompt: string): void {
    this.#said = emptyText();
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
    this.#passOn(this.#redacting.hear(event));
    if (event.kind === 'usage' || event.kind === 'turn-end') this.#checkBudget();
    if (event.kind !== 'process-group') return;
    try {
      this.#turn.lease?.setProcessGroup(event.pgid);
    } catch (error) {
      // No process would find this group after a crash, so the turn ends while the group is known.
      clock.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #passOn(events: readonly AgentEvent[]): void {
    for (const event of events) {
      if (event.kind === 'text') this.#said.add(event.text);
      this.trace.record(event);
      if (event.kind !== 'process-group') this.#engine.tell({ ...this.#place, ...asTold(event) });
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
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Each kind's facts are those of the event of its name.
  return { event: names[kind], ...facts } as Told;
}
