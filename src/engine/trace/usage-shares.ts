import type { Usage } from '../../agent/contract.ts';

const names = ['inputTokens', 'outputTokens', 'costUsd', 'cacheReadTokens', 'cacheWriteTokens'] as const;

/** The usage of one turn of a model. A value is absent if the agent does not report it. */
export type Share = { [Name in (typeof names)[number]]?: number };

/**
 * Divides what a try of an agent uses among the turns of its model.
 *
 * An agent says what a turn has used when it ends, or now and then what the whole try has used so far; what is told of
 * the try and no turn has claimed is the present turn's.
 */
export class UsageShares {
  #endedTurns = 0;
  #given: Share = {};
  #givenToTurn: Share = {};
  /** The usage of the whole try as the agent reported it, at once or turn by turn; `undefined` if it did not. */
  told: Usage | undefined;

  startTurn(): void {
    this.#givenToTurn = {};
  }

  /** The present turn has ended and used so much; gives what is to be added to its share. */
  endTurn(usage: Usage | undefined): Share | undefined {
    this.#endedTurns += 1;
    if (!usage) return undefined;
    const share = this.#give(minus(usage, this.#givenToTurn));
    const { inputTokens = 0, outputTokens = 0, ...others } = this.#given;
    this.told = {
      inputTokens,
      outputTokens,
      turns: Math.max(this.told?.turns ?? 0, this.#endedTurns),
      ...others,
      ...((this.told?.isAtLeast ?? usage.isAtLeast) && { isAtLeast: true }),
    };
    return share;
  }

  /** The try has used so much until now; gives what of it is the present turn's. */
  tell(usage: Usage): Share {
    this.told = usage;
    return this.#give(each((name) => positive(minus(usage, this.#given)[name])));
  }

  #give(share: Share): Share {
    this.#given = plus(this.#given, share);
    this.#givenToTurn = plus(this.#givenToTurn, share);
    return share;
  }
}

/** Adds up two sums; what neither of them has is absent. */
export function plus(a: Share, b: Share): Share {
  return each((name) => (a[name] === undefined ? b[name] : a[name] + (b[name] ?? 0)));
}

function minus(a: Share, b: Share): Share {
  return each((name) => (a[name] === undefined ? undefined : a[name] - (b[name] ?? 0)));
}

function each(count: (name: (typeof names)[number]) => number | undefined): Share {
  const sum: Share = {};
  for (const name of names) {
    const value = count(name);
    if (value !== undefined) sum[name] = value;
  }
  return sum;
}

function positive(count: number | undefined): number | undefined {
  return count === undefined ? undefined : Math.max(count, 0);
}
