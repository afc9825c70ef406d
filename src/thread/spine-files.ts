/** What lists, logs, pictures and the check of a route need of a commit's tree: its node, its index, and the definition. */
const spine = /^(?:index|(?:start|step|suspend|resume|end|agent)\.json|(?:workflow|children|agents|types)\/.+)$/;

/** What a thread was asked for, and what came of it: lists show these. */
const titles: ReadonlyMap<string, string> = new Map([
  ['prompt.md', 'start.json'],
  ['summary.md', 'end.json'],
]);

/**
 * Tells a file that says how a thread went from one that says what was said and done: a reply, a role's prompt, a trace.
 *
 * @param root the paths of the commit's tree, those of its root at least
 */
export function isSpineFile(path: string, root: Iterable<string>): boolean {
  const beside = titles.get(path);
  return spine.test(path) || (beside !== undefined && [...root].includes(beside));
}
