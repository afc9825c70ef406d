import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';

/** What threads used together, under one name. */
export type UsageRow = { name: string; threads: number; usage: Usage | null };

/** Adds up what threads used, by names such as days or roles. */
export class UsageSums {
  readonly #rows = new Map<string, UsageRow>();

  /** Adds a thread, or a part of it; a thread is counted once for each name that it is added to. */
  add(name: string, usage: Usage | null | undefined): void {
    const row = this.#rows.get(name) ?? { name, threads: 0, usage: null };
    this.#rows.set(name, { name, threads: row.threads + 1, usage: addUsage(row.usage, usage) });
  }

  /** What cost most first; of equal cost what used most. */
  byCost(): UsageRow[] {
    return [...this.#rows.values()].toSorted((a, b) => costOf(b) - costOf(a) || tokensOf(b) - tokensOf(a));
  }

  /** The last name first. */
  byName(): UsageRow[] {
    return [...this.#rows.values()].toSorted((a, b) => (a.name < b.name ? 1 : -1));
  }
}

/** In US dollars; 0 where it is not known. */
export function costOf({ usage }: Pick<UsageRow, 'usage'>): number {
  return usage?.costUsd ?? 0;
}

/** In and out together. */
export function tokensOf({ usage }: Pick<UsageRow, 'usage'>): number {
  return usage === null ? 0 : usage.inputTokens + usage.outputTokens;
}

/** The value that so many of a hundred are not above; `undefined` of none. */
export function percentile(values: readonly number[], percent: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(Math.ceil((percent / 100) * sorted.length) - 1, 0)];
}
