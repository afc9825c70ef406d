import type { EngineEvent } from '../../engine/events.ts';
import type { Palette } from './palette.ts';
import { redactedLine } from './redacted-line.ts';
import { formatDuration } from './time.ts';
import { fitTo, oneLine, widthOf } from './width.ts';

/** The events by which a run of a thread ends. */
const overs: ReadonlySet<string> = new Set(['thread.ended', 'thread.failed', 'thread.cancelled', 'thread.suspended']);

/**
 * Turns what the engine tells into lines for people; child threads are indented below the step that called them. How the
 * thread that was asked for came out is left to the command.
 */
export class RunStory {
  readonly #paint: Palette;
  readonly #columns: number;
  readonly #depths = new Map<string, number>();
  /** Threads whose agent has started and said nothing yet. */
  readonly #starting = new Set<string>();

  #asked: string | undefined;
  #isAskedOver = false;

  /**
   * @param columns how wide a line may get; what does not fit of a reply is cut
   * @param asked the thread that was asked for; default: the first that is heard of
   */
  constructor(paint: Palette, columns: number = Infinity, asked?: string) {
    this.#paint = paint;
    this.#columns = columns;
    this.#asked = asked;
  }

  /** The line for an event; `undefined` for one that only the live line shows. */
  lineFor(event: EngineEvent): string | undefined {
    const paint = this.#paint;
    this.#asked ??= event.thread;
    const isAsked = event.thread === this.#asked;
    const depth = this.#depthOf(event);
    if (isAsked && overs.has(event.event)) this.#isAskedOver = true;
    const indent = '    '.repeat(depth);
    if (event.event === 'step.started') this.#starting.add(event.thread);
    else if (event.event !== 'agent.refusal') this.#starting.delete(event.thread);
    switch (event.event) {
      case 'thread.started':
        return `${indent}${depth > 0 ? 'child thread' : 'thread'} ${paint.id(event.thread)}  ${paint.name(event.workflow)}`;
      case 'thread.waiting': {
        const holders = event.holders.map(({ thread, pid }) => `${paint.id(thread)} (process ${pid})`).join(', ');
        return `${indent}${paint.warning('waiting')} until fewer than ${event.limit} threads work: ${holders}`;
      }
      case 'thread.compacted': {
        const by = event.agent === null ? '' : ` by ${paint.name(event.agent)}`;
        return `${indent}${paint.quiet('     summed up')} ${event.steps} steps${by} in ${event.characters} characters`;
      }
      case 'thread.not-compacted':
        return `${indent}     ${paint.warning('not summed up')}: ${oneLine(event.reason)}`;
      case 'step.finished': {
        const number = String(event.number).padStart(3);
        const outcome = event.outcome === null ? '' : ` ${paint.title(oneLine(event.outcome))}`;
        const took = paint.quiet(`(${formatDuration(event.durationMs)})`);
        const subject = oneLine(event.subject);
        const before = `${indent}${paint.quiet(number)}  ${paint.name(event.role)}${outcome}`;
        const room = this.#columns - widthOf(before) - widthOf(took) - 3;
        const said = subject === '' || subject === event.outcome ? '' : `: ${fitTo(subject, Math.max(room, 10))}`;
        return `${before}${said} ${took}`;
      }
      case 'reply.refused': {
        const next = event.isLast ? 'not asked again' : 'asking again';
        const errors = event.errors.map(oneLine).join('; ');
        return `${indent}     ${paint.warning('not accepted')} from ${paint.name(event.role)}, ${next}: ${errors}`;
      }
      case 'secrets.redacted': {
        const whose = event.role === null ? 'what was given' : paint.name(event.role);
        return `${indent}     ${paint.warning(redactedLine(event.rules, whose))}`;
      }
      case 'reply.stored': {
        const where = event.fork === null ? '' : ` as thread ${paint.id(event.fork)}`;
        return `${indent}     ${paint.quiet('stored')} the reply of ${paint.name(event.role)} that was kept${where}`;
      }
      case 'snapshot.shortened':
        return `${indent}     ${paint.warning('not recorded')} of what ${paint.name(event.role)} left: ${oneLine(event.reason)}`;
      case 'agent.refusal':
        // What an agent lacks before it has said a word is in its configuration; what is denied later is in the trace.
        if (!this.#starting.has(event.thread)) return undefined;
        return `${indent}     ${paint.warning('not given')} to ${paint.name(event.role)}: ${oneLine(event.text)}`;
      case 'agent.pause': {
        const took = formatDuration(event.durationMs);
        return `${indent}     ${paint.warning('waiting')} ${took} before ${paint.name(event.role)} goes on: ${oneLine(event.text)}`;
      }
      case 'child.left':
        return `${indent}     ${paint.warning('left')} child thread ${paint.id(event.child)} (${event.status}): no later try asked for it`;
      case 'thread.ended':
      case 'thread.failed':
      case 'thread.cancelled':
      case 'thread.suspended':
        if (isAsked) return undefined;
        return [
          `${indent}${depth > 0 ? 'child thread' : `thread ${paint.id(event.thread)}`} ${event.status}`,
          ...(oneLine(event.text) === '' ? [] : [oneLine(event.text)]),
        ].join(': ');
      default:
        return undefined;
    }
  }

  #depthOf(event: EngineEvent): number {
    const known = this.#depths.get(event.thread);
    if (known !== undefined) return known;
    const parent = event.event === 'thread.started' ? event.parent : null;
    // One that is only continued tells no start. Before the thread that was asked for is over it is a child of it, which
    // goes on first; afterwards it is its caller.
    const isBelow = event.thread !== this.#asked && !this.#isAskedOver;
    const depth = parent === null ? (isBelow ? 1 : 0) : (this.#depths.get(parent) ?? 0) + 1;
    this.#depths.set(event.thread, depth);
    return depth;
  }
}
