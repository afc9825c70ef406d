/** The files of a commit's tree that lists, logs and verification need: its node, its index, and the definition. */
const described = /^(?:index|(?:start|step|suspend|resume|end|agent)\.json|(?:workflow|children|agents|types)\/.+)$/;

/** The task and the result of a thread, which lists show. */
const titles: ReadonlyMap<string, string> = new Map([
  ['prompt.md', 'start.json'],
  ['summary.md', 'end.json'],
]);

/**
 * Tells whether a partial clone fetches a file with the thread. It leaves out contents: replies, prompts of roles, traces.
 *
 * @param root the paths in the commit's tree, at least those of its root
 */
export function isPartialCloneFile(path: string, root: Iterable<string>): boolean {
  const beside = titles.get(path);
  return described.test(path) || (beside !== undefined && [...root].includes(beside));
}
