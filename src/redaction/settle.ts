import type { Finding } from './finding.ts';

/** A finding that overlaps no other. */
export type Settled = Finding & { secret: string };

/** Up to where a text is settled: what is taken out by now, and the end of the last block that is taken out whole. */
export type Progress = { done: number; blockEnd: number };

/**
 * Settles which findings stay: the one that begins first, then the longest, then the surest. What overlaps it loses that
 * part; what begins in a block of a private key goes with it.
 */
export function settle(text: string, findings: readonly Finding[], progress: Progress): Settled[] {
  const settled: Settled[] = [];
  for (const finding of findings.toSorted((a, b) => a.start - b.start || b.end - a.end || a.layer - b.layer)) {
    const start = Math.max(finding.start, progress.done);
    if (finding.end <= start || finding.start < progress.blockEnd) continue;
    const isBlock = finding.rule === 'private-key';
    const secret =
      start === finding.start && finding.secret !== undefined ? finding.secret : text.slice(start, finding.end);
    settled.push({ ...finding, start, secret: isBlock ? secret.slice(0, longestBlock) : secret });
    progress.done = finding.end;
    if (isBlock) progress.blockEnd = finding.end;
  }
  return settled;
}

/** A longer block is taken out before its end is known. */
export const longestBlock = 65_536;
