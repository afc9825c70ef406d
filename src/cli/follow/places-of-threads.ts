import type { EngineEvent } from '../../engine/events.ts';
import { isEndOfRun } from './is-end-of-run.ts';

/** Where the lines of a thread stand in the story of a run. */
export type StoryPlace = {
  /** How many threads are above it. */
  depth: number;
  /** The keys of the branches that it is in, from the outermost; '' for a thread in none. */
  keys: string;
  /** True for the branches of a block beyond those that have lines of their own, and for what is below them. */
  isFolded: boolean;
  /** True for the thread that was asked for. */
  isAsked: boolean;
};

/** Places the threads of a run by their events. */
export class PlacesOfThreads {
  readonly #maxBranches: number;
  readonly #places = new Map<string, StoryPlace>();
  /** How many branches the turn that a caller is in has begun. */
  readonly #begun = new Map<string, number>();
  #asked: string | undefined;
  #isAskedOver = false;

  /**
   * @param maxBranches so many branches of a block have lines of their own
   * @param asked the thread that was asked for; default: the first that is heard of
   */
  constructor(maxBranches: number, asked?: string) {
    this.#maxBranches = maxBranches;
    this.#asked = asked;
  }

  /** The place of an event's thread; to be called for each event, in their order. */
  of(event: EngineEvent): StoryPlace {
    this.#asked ??= event.thread;
    const known = this.#places.get(event.thread);
    const place = known ?? this.#place(event);
    if (known === undefined) this.#places.set(event.thread, place);
    if (event.event === 'step.finished') this.#begun.delete(event.thread);
    if (place.isAsked && isEndOfRun(event)) this.#isAskedOver = true;
    return place;
  }

  #place(event: EngineEvent): StoryPlace {
    const isAsked = event.thread === this.#asked;
    const { parent = null, branch } = 'parent' in event ? event : {};
    const caller = parent === null ? undefined : this.#places.get(parent);
    // A thread that is continued sends no start event. Before the end of the requested thread it is a child of it, which
    // runs first; afterwards it is the caller.
    const isBelow = caller !== undefined || (!isAsked && (parent !== null || !this.#isAskedOver));
    const keys = [caller?.keys ?? '', branch?.key ?? ''].filter((key) => key !== '').join('/');
    const isFolded = caller?.isFolded === true || (parent !== null && branch !== undefined && this.#isBeyond(parent));
    return { depth: isBelow ? (caller?.depth ?? 0) + 1 : 0, keys, isFolded, isAsked };
  }

  #isBeyond(caller: string): boolean {
    const begun = (this.#begun.get(caller) ?? 0) + 1;
    this.#begun.set(caller, begun);
    return begun > this.#maxBranches;
  }
}
