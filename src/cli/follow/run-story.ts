import type { EngineEvent, ThreadOver } from '../../engine/events.ts';
import type { Palette } from '../output/palette.ts';
import { formatDuration } from '../../format-time.ts';
import { eventNotice } from './event-notice.ts';
import { fitTo, oneLine, widthOf } from '../output/width.ts';

const overs: ReadonlySet<string> = new Set(['thread.ended', 'thread.failed', 'thread.cancelled', 'thread.suspended']);

/** Tells whether a run of a thread ends with an event. */
export function isEndOfRun(event: { event: string }): event is ThreadOver {
  return overs.has(event.event);
}

/**
 * Formats the engine's events as lines for people. Child threads are indented below the step that called them. The result
 * of the requested thread is printed by the command.
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
   * @param columns the width of a line; a reply that does not fit is truncated
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
    if (isAsked && isEndOfRun(event)) this.#isAskedOver = true;
    const indent = '    '.repeat(depth);
    if (event.event === 'step.started') this.#starting.add(event.thread);
    else if (event.event !== 'agent.refusal') this.#starting.delete(event.thread);
    if (isEndOfRun(event)) {
      if (isAsked) return undefined;
      const name = depth > 0 ? 'child thread' : `thread ${paint.id(event.thread)}`;
      const text = oneLine(event.text);
      return `${indent}${name} ${event.status}${text === '' ? '' : `: ${text}`}`;
    }
    switch (event.event) {
      case 'thread.started':
        return `${indent}${depth > 0 ? 'child thread' : 'thread'} ${paint.id(event.thread)}  ${paint.name(event.workflow)}`;
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
      case 'agent.refusal':
        // A refusal before the first word of an agent is a mistake in its configuration. A later one is in the trace.
        if (!this.#starting.has(event.thread)) return undefined;
        return `${indent}     ${paint.warning('not given')} to ${paint.name(event.role)}: ${oneLine(event.text)}`;
      default: {
        const notice = eventNotice(event, paint);
        const margin = event.event === 'thread.waiting' || event.event === 'work-tree.shared' ? '' : '     ';
        return notice === undefined ? undefined : `${indent}${margin}${notice}`;
      }
    }
  }

  #depthOf(event: EngineEvent): number {
    const known = this.#depths.get(event.thread);
    if (known !== undefined) return known;
    const parent = event.event === 'thread.started' ? event.parent : null;
    // A thread that is continued sends no start event. Before the end of the requested thread it is a child of it, which
    // runs first; afterwards it is the caller.
    const isBelow = event.thread !== this.#asked && !this.#isAskedOver;
    const depth = parent === null ? (isBelow ? 1 : 0) : (this.#depths.get(parent) ?? 0) + 1;
    this.#depths.set(event.thread, depth);
    return depth;
  }
}
