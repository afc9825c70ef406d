import type { Usage } from '../agent/contract.ts';
import type { TurnTokens } from '../schema/built-in/react.ts';

/** What one turn of a model has used; what the agent does not say is absent. */
export type Share = TurnTokens & { costUsd?: number };

type Sum = Partial<Share>;

const names = ['input', 'output', 'cacheRead', 'cacheWrite', 'costUsd'] as const satisfies readonly (keyof Share)[];

/**
 * Divides what a try of an agent uses among the turns of its model.
 *
 * An agent says what a turn has used when it ends, or now and then what the whole try has used so far; what is told of
 * the try and no turn has claimed is the present turn's.
 */
export class UsageShares {
  #endedTurns = 0;
  #given: Sum = {};
  #givenToTurn: Sum = {};
  #told: Usage | undefined;

  /** What the agent has told of the whole try, at once or turn by turn; `undefined` if nothing. */
  get told(): Usage | undefined {
    return this.#told;
  }

  startTurn(): void {
    this.#givenToTurn = {};
  }

  /** The present turn has ended and used so much; gives what is to be added to its share. */
  endTurn(usage: Usage | undefined): Sum | undefined {
    this.#endedTurns += 1;
    if (!usage) return undefined;
    const share = this.#give(minus(sumOf(usage), this.#givenToTurn));
    const { input = 0, output = 0, cacheRead, cacheWrite, costUsd } = this.#given;
    this.#told = {
      inputTokens: input,
      outputTokens: output,
      turns: Math.max(this.#told?.turns ?? 0, this.#endedTurns),
      ...(costUsd !== undefined && { costUsd }),
      ...(cacheRead !== undefined && { cacheReadTokens: cacheRead }),
      ...(cacheWrite !== undefined && { cacheWriteTokens: cacheWrite }),
      ...((this.#told?.isAtLeast ?? usage.isAtLeast) && { isAtLeast: true }),
    };
    return share;
  }

  /** The try has used so much until now; gives what of it is the present turn's. */
  tell(usage: Usage): Sum {
    this.#told = usage;
    return this.#give(each((name) => positive(minus(sumOf(usage), this.#given)[name])));
  }

  #give(share: Sum): Sum {
    this.#given = plus(this.#given, share);
    this.#givenToTurn = plus(this.#givenToTurn, share);
    return share;
  }
}

/** Adds up two sums; what neither of them has is absent. */
export function plus(a: Sum, b: Sum): Sum {
  return each((name) => (a[name] === undefined ? b[name] : a[name] + (b[name] ?? 0)));
}

function minus(a: Sum, b: Sum): Sum {
  return each((name) => (a[name] === undefined ? undefined : a[name] - (b[name] ?? 0)));
}

function sumOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd }: Usage): Sum {
  const all = { input: inputTokens, output: outputTokens, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens };
  return each((name) => ({ ...all, costUsd })[name]);
}

function each(count: (name: (typeof names)[number]) => number | undefined): Sum {
  const sum: Sum = {};
  for (const name of names) {
    const value = count(name);
    if (value !== undefined) sum[name] = value;
  }
  return sum;
}

function positive(count: number | undefined): number | undefined {
  return count === undefined ? undefined : Math.max(count, 0);
}
