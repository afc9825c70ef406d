import { IndigestibleAnswer } from './broken-answer.ts';

/** Counts what is unpacked: a few bytes of a pack can stand for very many, again and again. */
export class UnpackBudget {
  readonly #most: number;
  #spent = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** @throws {IndigestibleAnswer} if it is too much; it is not unpacked then, and not spent */
  spend(bytes: number): void {
    if (this.#spent + bytes > this.#most) {
      throw new IndigestibleAnswer(`what it sent unpacks to more than ${this.#most} bytes`);
    }
    this.#spent += bytes;
  }
}
