import type { SecretPlace } from '../../thread/secret-scan.ts';
import { formatCount } from '../../text/wording.ts';
import { oneLine } from './width.ts';

/** How many places are printed. `--json` has all. */
const MAX_PLACES = 20;

/** Says where secrets are, a line each: the step, the file, the place in it, and the rule. Never the secret. */
export function secretLines(places: readonly SecretPlace[], most: number = MAX_PLACES): string[] {
  const lines = places.slice(0, most).map(({ commit, step, node, file, at, rule }) => {
    const where = step === null ? `commit ${commit.slice(0, 7)}` : `step ${step}`;
    const of = node === null ? '' : ` (${node})`;
    return `${where}  ${oneLine(file)}${of} ${oneLine(at)}  ${oneLine(rule)}`;
  });
  const more = places.length - lines.length;
  return more > 0 ? [...lines, `and ${formatCount(more)} more`] : lines;
}

/**
 * Says what was redacted in a text.
 * @param rules how many secrets each rule has found
 */
export function redactedLine(rules: Readonly<Record<string, number>>, whose: string = 'what was given'): string {
  const found = Object.entries(rules).map(([rule, count]) => (count === 1 ? rule : `${count} ${rule}`));
  return `redacted from ${whose}: ${found.join(', ')}; hand agents a secret with passEnv`;
}
