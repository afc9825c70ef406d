/**
 * What was taken out of a text, for the person whose it is.
 * @param rules how many secrets each rule has found
 */
export function redactedLine(rules: Readonly<Record<string, number>>, whose: string = 'what was given'): string {
  const found = Object.entries(rules).map(([rule, count]) => (count === 1 ? rule : `${count} ${rule}`));
  return `redacted from ${whose}: ${found.join(', ')}; hand agents a secret with passEnv`;
}
