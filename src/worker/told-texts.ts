import { monotonicMs } from '../monotonic-ms.ts';

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
