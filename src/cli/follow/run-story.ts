import type { EngineEvent, ThreadOver } from '../../engine/events.ts';
import type { Palette } from '../output/palette.ts';
import { formatDuration } from '../../format-time.ts';
import { eventNotice } from './event-notice.ts';
import { isEndOfRun } from './is-end-of-run.ts';
import { PlacesOfThreads, type StoryPlace } from './places-of-threads.ts';
import { fitTo, oneLine, widthOf } from '../output/width.ts';

/** So many branches of one block have lines of their own on a terminal; of the others only those that fail or wait. */
const MAX_TOLD_BRANCHES = 20;

/**
 * Formats the engine's events as lines for people. Child threads are indented below the step that called them, and lines of
 * branches, which come in between each other, begin with the branch's key. The result of the requested thread is printed by the
 * command.
 */
export class RunStory {
  readonly #paint: Palette;
  readonly #columns: number;
  readonly #places: PlacesOfThreads;
  /** Threads whose agent has started and said nothing yet. */
  readonly #starting = new Set<string>();

  /**
   * @param columns the width of a line; a reply that does not fit is truncated. Without it, the lines are no terminal's, and no
   * branch is left out
   * @param asked the thread that was asked for; default: the first that is heard of
   */
  constructor(paint: Palette, columns?: number, asked?: string) {
    this.#paint = paint;
    this.#columns = columns ?? Infinity;
    this.#places = new PlacesOfThreads(columns === undefined ? Infinity : MAX_TOLD_BRANCHES, asked);
  }

  /** The line for an event; `undefined` for one that only the live line shows. */
  lineFor(event: EngineEvent): string | undefined {
    const place = this.#places.of(event);
    if (event.event === 'step.started') this.#starting.add(event.thread);
    else if (event.event !== 'agent.refusal') this.#starting.delete(event.thread);
    const line = isEndOfRun(event) ? this.#end(event, place) : place.isFolded ? undefined : this.#line(event, place);
    return line === undefined ? undefined : '    '.repeat(place.depth) + line;
  }

  #end(event: ThreadOver, { depth, keys, isAsked, isFolded }: StoryPlace): string | undefined {
    if (isAsked || (isFolded && event.event === 'thread.ended')) return undefined;
    const { id } = this.#paint;
    const name = keys !== '' ? this.#branch(keys) : depth > 0 ? 'child thread' : `thread ${id(event.thread)}`;
    const text = oneLine(event.text);
    return `${name} ${event.status}${text === '' ? '' : `: ${text}`}`;
  }

  #branch(keys: string): string {
    return `branch ${this.#paint.title(oneLine(keys))}`;
  }

  #line(event: Exclude<EngineEvent, ThreadOver>, { depth, keys }: StoryPlace): string | undefined {
    const paint = this.#paint;
    const whose = keys === '' ? '' : `${paint.title(oneLine(keys))} `;
    switch (event.event) {
      case 'thread.started': {
        const name = keys !== '' ? `${this.#branch(keys)}: thread` : depth > 0 ? 'child thread' : 'thread';
        return `${name} ${paint.id(event.thread)}  ${paint.name(event.workflow)}`;
      }
      case 'branch.continued':
        return `${this.#branch(keys)} continues: thread ${paint.id(event.thread)}`;
      case 'step.finished': {
        const number = String(event.number).padStart(3);
        const outcome = event.outcome === null ? '' : ` ${paint.title(oneLine(event.outcome))}`;
        const took = paint.quiet(`(${formatDuration(event.durationMs)})`);
        const subject = oneLine(event.subject);
        const before = `${whose}${paint.quiet(number)}  ${paint.name(event.role)}${outcome}`;
        const room = this.#columns - widthOf(before) - 4 * depth - widthOf(took) - 3;
        const said = subject === '' || subject === event.outcome ? '' : `: ${fitTo(subject, Math.max(room, 10))}`;
        return `${before}${said} ${took}`;
      }
      case 'agent.refusal':
        // A refusal before the first word of an agent is a mistake in its configuration. A later one is in the trace.
        if (!this.#starting.has(event.thread)) return undefined;
        return `${whose}     ${paint.warning('not given')} to ${paint.name(event.role)}: ${oneLine(event.text)}`;
      default: {
        const notice = eventNotice(event, paint);
        const margin = event.event === 'thread.waiting' || event.event === 'work-tree.shared' ? '' : '     ';
        return notice === undefined ? undefined : `${whose}${margin}${notice}`;
      }
    }
  }
}
