import { messageOf, UwfError } from '../errors.ts';
import { RemoteUnreachable } from '../git/transport/git-output.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { QueueLost, type TellTrouble } from './turn-queue.ts';

/**
 * Tells what goes wrong in a worker: that the remote is away once for all turns that notice it, and once that it is back; the
 * same words once a minute, an outage that begins too, and what can be done once. That a queue has lost its server, the queue
 * tells itself.
 */
export class WorkerTroubles {
  readonly #remote: string;
  readonly #say: (text: string) => void;
  readonly #told = new ToldTexts(1_000);
  #isAway = false;

  /** @param remote its name */
  constructor(remote: string, say: (text: string) => void) {
    this.#remote = remote;
    this.#say = say;
  }

  readonly tell: TellTrouble = (trouble, thread) => {
    if (trouble instanceof QueueLost) return;
    const isOutage = trouble instanceof RemoteUnreachable;
    if (isOutage && this.#isAway) return;
    const text = isOutage || thread === undefined ? messageOf(trouble) : `thread ${thread}: ${messageOf(trouble)}`;
    if (!this.#told.isNew(isOutage ? this.#remote : text)) return;
    if (isOutage) this.#isAway = true;
    this.#say(this.#told.withRemedy(text, trouble instanceof UwfError ? trouble.hint : undefined));
  };

  /** A look at the remote has succeeded. */
  reached(): void {
    if (this.#isAway) this.#say(`${this.#remote} is back`);
    this.#isAway = false;
  }
}

/** The same words are told again after this time. */
const REPEAT_MS = 60_000;

/** Remembers what was told of faults that go on: the same words are new once a minute, and what can be done about them once. */
export class ToldTexts {
  readonly #maxTexts: number;
  readonly #toldAtMs = new Map<string, number>();
  readonly #remedies = new Set<string>();

  /** @param maxTexts texts with a changing part in them are not kept for ever */
  constructor(maxTexts: number) {
    this.#maxTexts = maxTexts;
  }

  /** Tells whether words are to be told now, and counts them as told. */
  isNew(text: string): boolean {
    const nowMs = monotonicMs();
    if (nowMs - (this.#toldAtMs.get(text) ?? -Infinity) < REPEAT_MS) return false;
    if (this.#toldAtMs.size >= this.#maxTexts) this.#toldAtMs.clear();
    this.#toldAtMs.set(text, nowMs);
    return true;
  }

  /** Adds what can be done to words, if that was not told before. */
  withRemedy(text: string, remedy: string | undefined): string {
    if (remedy === undefined || this.#remedies.has(remedy)) return text;
    this.#remedies.add(remedy);
    return `${text} (${remedy})`;
  }
}
