/**
 * Makes a test of names out of names and of patterns with one `*` at the end.
 *
 * @param except names that the patterns are not to bring
 */
export function refMatcher(patterns: readonly string[], except: readonly string[] = []): (name: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith('*')));
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  const excepted = new Set(except);
  return (name) => names.has(name) || (!excepted.has(name) && prefixes.some((prefix) => name.startsWith(prefix)));
}
