/** The last action of each name, by its owner. Weak, so that a file system in memory can be collected. */
const lastTurns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Runs the actions of one name of one owner one after the other, within this process: also those of two repositories that
 * were opened over the same file system and folder.
 */
export async function inTurn<T>(owner: object, name: string, action: () => Promise<T>): Promise<T> {
  const turns = lastTurns.get(owner) ?? new Map<string, Promise<unknown>>();
  lastTurns.set(owner, turns);
  const before = turns.get(name) ?? Promise.resolve();
  const turn = before.then(action, action);
  turns.set(name, turn);
  try {
    return await turn;
  } finally {
    if (turns.get(name) === turn) turns.delete(name);
  }
}
