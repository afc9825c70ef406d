import { messageOf, UwfError } from '../errors.ts';
import { RemoteUnreachable } from '../git/transport/remote-errors.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { QueueLost, type TellTrouble } from './turn-queue.ts';

/** The same words are told again after this time, and so is an outage that begins; ms. */
const REPEAT_MS = 60_000;
/** Words with a changing part in them are not kept for ever. */
const MAX_TEXTS = 1_000;

/**
 * Tells what goes wrong in a worker: that the remote is away once for all turns that notice it, and once that it is back; the
 * same words once a minute, and what can be done once. That a queue has lost its server, the queue tells itself.
 */
export class WorkerTroubles {
  readonly #remote: string;
  readonly #say: (text: string) => void;
  readonly #saidAtMs = new Map<string, number>();
  readonly #hints = new Set<string>();
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
    if (!this.#isNew(isOutage ? this.#remote : text)) return;
    if (isOutage) this.#isAway = true;
    const hint = trouble instanceof UwfError && !this.#hints.has(trouble.hint ?? '') ? trouble.hint : undefined;
    if (hint !== undefined) this.#hints.add(hint);
    this.#say(hint === undefined ? text : `${text} (${hint})`);
  };

  /** A look at the remote has succeeded. */
  reached(): void {
    if (this.#isAway) this.#say(`${this.#remote} is back`);
    this.#isAway = false;
  }

  #isNew(text: string): boolean {
    const nowMs = monotonicMs();
    if (nowMs - (this.#saidAtMs.get(text) ?? -Infinity) < REPEAT_MS) return false;
    if (this.#saidAtMs.size >= MAX_TEXTS) this.#saidAtMs.clear();
    this.#saidAtMs.set(text, nowMs);
    return true;
  }
}
