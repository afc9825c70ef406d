import type { Usage } from '../agent/contract.ts';

/** What one turn of a model has used; `costUsd` is absent where the agent does not say. */
export type Share = { input: number; output: number; costUsd?: number };

type Sum = { readonly input: number; readonly output: number; readonly costUsd: number };

const nothing: Sum = { input: 0, output: 0, costUsd: 0 };

/**
 * Divides what a try of an agent uses among the turns of its model.
 *
 * An agent says what a turn has used when it ends, or now and then what the whole try has used so far; what is told of
 * the try and no turn has claimed is the present turn's.
 */
export class UsageShares {
  #endedTurns = 0;
  #given: Sum = nothing;
  #givenToTurn: Sum = nothing;
  #told: Usage | undefined;

  /** What the agent has told of the whole try, at once or turn by turn; `undefined` if nothing. */
  get told(): Usage | undefined {
    return this.#told;
  }

  startTurn(): void {
    this.#givenToTurn = nothing;
  }

  /** The present turn has ended and used so much; gives what is to be added to its share. */
  endTurn(usage: Usage | undefined): Share | undefined {
    this.#endedTurns += 1;
    if (!usage) return undefined;
    const share = this.#give(minus(sumOf(usage), this.#givenToTurn), usage.costUsd !== undefined);
    const { input, output, costUsd } = this.#given;
    const turns = Math.max(this.#told?.turns ?? 0, this.#endedTurns);
    const hasCost = usage.costUsd !== undefined || this.#told?.costUsd !== undefined;
    this.#told = { inputTokens: input, outputTokens: output, turns, ...(hasCost && { costUsd }) };
    return share;
  }

  /** The try has used so much until now; gives what of it is the present turn's. */
  tell(usage: Usage): Share {
    this.#told = usage;
    const rest = minus(sumOf(usage), this.#given);
    const positive = (count: number): number => Math.max(count, 0);
    const share = { input: positive(rest.input), output: positive(rest.output), costUsd: positive(rest.costUsd) };
    return this.#give(share, usage.costUsd !== undefined);
  }

  #give(share: Sum, hasCost: boolean): Share {
    this.#given = plus(this.#given, share);
    this.#givenToTurn = plus(this.#givenToTurn, share);
    const { input, output, costUsd } = share;
    return { input, output, ...(hasCost && { costUsd }) };
  }
}

function sumOf({ inputTokens, outputTokens, costUsd = 0 }: Usage): Sum {
  return { input: inputTokens, output: outputTokens, costUsd };
}

function plus(a: Sum, b: Sum): Sum {
  return { input: a.input + b.input, output: a.output + b.output, costUsd: a.costUsd + b.costUsd };
}

function minus(a: Sum, b: Sum): Sum {
  return { input: a.input - b.input, output: a.output - b.output, costUsd: a.costUsd - b.costUsd };
}
