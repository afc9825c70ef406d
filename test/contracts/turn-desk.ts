import { setTimeout as delay } from 'node:timers/promises';
import type { TakeTurn, TurnJob, TurnLock, TurnVerdict } from '../../src/worker/turn-queue.ts';

/** A turn that a queue asked for. It lasts until it is answered. */
export type TakenTurn = {
  job: TurnJob;
  lock: TurnLock;
  answer(verdict: TurnVerdict): void;
};

/** Takes turns for a test, which answers them. */
export class TurnDesk {
  /** All turns so far, in the order in which they were given out. */
  readonly taken: TakenTurn[] = [];
  mostAtOnce = 0;
  #atOnce = 0;
  #seen = 0;
  #verdict: TurnVerdict | undefined;
  #waiting: (() => void)[] = [];

  readonly take: TakeTurn = async (job, lock) => {
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.#atOnce);
    const verdict = new Promise<TurnVerdict>((answer) => {
      this.taken.push({ job, lock, answer });
      // A turn that the test has forgotten ends when the worker gives it back.
      lock.signal.addEventListener('abort', () => answer('again'));
      if (this.#verdict !== undefined) answer(this.#verdict);
    });
    for (const wake of this.#waiting.splice(0)) wake();
    try {
      return await verdict;
    } finally {
      this.#atOnce--;
    }
  };

  /** Answers all turns from now on at once. */
  answerAll(verdict: TurnVerdict): void {
    this.#verdict = verdict;
  }

  /** The next turn in the order in which they were given out. */
  async next(): Promise<TakenTurn> {
    const at = this.#seen++;
    await this.hasTaken(at + 1);
    // It was waited for.
    return this.taken[at]!;
  }

  async hasTaken(count: number): Promise<void> {
    while (this.taken.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Offers again and again until one more turn is taken: an answer takes a while to reach the queue. */
  async offeredUntilTaken(offer: () => Promise<void>): Promise<void> {
    const wanted = this.taken.length + 1;
    while (this.taken.length < wanted) {
      await offer();
      await Promise.race([this.hasTaken(wanted), delay(20)]);
    }
  }
}
