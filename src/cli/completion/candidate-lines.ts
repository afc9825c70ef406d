import { oneLine } from '../output/width.ts';
import type { Candidate } from './candidates.ts';

/**
 * Writes candidates as the shells' scripts read them: `word<tab>description`, a line each.
 *
 * Left out are words that a terminal would not show as they are, and those that the shell might read as more than a word.
 */
export function candidateLines(candidates: readonly Candidate[]): string {
  return candidates
    .filter(({ word }) => word === oneLine(word) && !/[\s"'`$&|;<>()*?[\]{}!\\#]/.test(word))
    .map(({ word, about }) => `${word}\t${oneLine(about)}\n`)
    .join('');
}
