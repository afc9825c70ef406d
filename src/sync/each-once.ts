/**
 * Goes through what waits, each once and the last first. Its caller adds what follows to `waiting`.
 * @param passed what it leaves out; it adds all that it goes through
 */
export function* eachOnce<T>(waiting: T[], passed: Set<T> = new Set()): Generator<T, void, void> {
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (passed.has(one)) continue;
    passed.add(one);
    yield one;
  }
}
