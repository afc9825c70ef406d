import { IndigestibleAnswer } from './broken-answer.ts';

/** Counts what is unpacked: a few bytes of a pack can stand for very many, again and again. */
export class UnpackBudget {
  readonly #most: number;
  #spent = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {IndigestibleAnswer} once it is too much */
  spend(bytes: number): void {
    this.#spent += bytes;
    if (this.#spent > this.#most) throw new IndigestibleAnswer(`what it sent unpacks to more than ${this.#most} bytes`);
  }
}
