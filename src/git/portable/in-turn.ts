/** The last action of each repository, by the file system it lies on. Weak, so that a file system in memory can go. */
const lastTurns = new WeakMap<object, Map<string, Promise<unknown>>>();

/**
 * Runs actions on one repository one after the other, within this process.
 *
 * Repositories that were opened twice, from the same `fs` and folder, share their turns.
 */
export async function inTurn<T>(fs: object, gitdir: string, action: () => Promise<T>): Promise<T> {
  const turns = lastTurns.get(fs) ?? new Map<string, Promise<unknown>>();
  lastTurns.set(fs, turns);
  const before = turns.get(gitdir) ?? Promise.resolve();
  const turn = before.then(action, action);
  turns.set(gitdir, turn);
  try {
    return await turn;
  } finally {
    if (turns.get(gitdir) === turn) turns.delete(gitdir);
  }
}
