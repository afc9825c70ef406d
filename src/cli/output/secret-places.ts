import type { SecretPlace } from '../../thread/secrets/secret-scan.ts';
import { formatCount } from './time.ts';
import { oneLine } from './width.ts';

/** So many places are printed; `--json` has more. */
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
