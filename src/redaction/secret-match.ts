/** What a rule matched, before overlaps are resolved. */
export type SecretMatch = {
  rule: string;
  start: number;
  end: number;
  /** Where what the rule looks at begins: the name before a value. */
  from?: number;
  /** What the mark is made of, where it is not the text itself: a known value in any of its encodings. */
  secret?: string;
  /** 0: a known value, 1: a provider's token, 2: a form with credentials, 3: randomness beside a name. */
  layer: number;
};

/** A match that overlaps no other. */
export type Settled = SecretMatch & { secret: string };

/** Up to where a text is settled: the end of the last match, and of the last block that is taken out whole. */
export type Settlement = { done: number; blockEnd: number };

/** A longer block is taken out before its end is known. */
export const MAX_BLOCK = 65_536;

/**
 * Resolves overlaps: the match that begins first wins, then the longest, then the surest. What overlaps it loses that
 * part; what begins in a block of a private key goes with it.
 */
export function settle(text: string, matches: readonly SecretMatch[], progress: Settlement): Settled[] {
  const settled: Settled[] = [];
  for (const match of matches.toSorted((a, b) => a.start - b.start || b.end - a.end || a.layer - b.layer)) {
    const start = Math.max(match.start, progress.done);
    const isBlock = match.rule === 'private-key';
    if (match.end <= start || (match.start < progress.blockEnd && !isBlock)) continue;
    const known = start === match.start ? match.secret : undefined;
    const secret = known ?? text.slice(start, match.end);
    settled.push({ ...match, start, secret: isBlock ? secret.slice(0, MAX_BLOCK) : secret });
    progress.done = match.end;
    if (isBlock) progress.blockEnd = match.end;
  }
  return settled;
}
