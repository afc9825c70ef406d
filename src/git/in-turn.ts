/** The last action of each thing, by what it belongs to. Weak, so that a file system in memory can go. */
const lastTurns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Runs actions on one thing one after the other, within this process: on a repository that was opened twice, from the same
 * file system and folder, too.
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
