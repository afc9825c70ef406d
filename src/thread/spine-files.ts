/** What lists, logs, pictures and the check of a route need of a commit's tree: its node, its index, and the definition. */
const spine = /^(?:index|(?:start|step|suspend|resume|end|agent)\.json|(?:workflow|children|agents|types)\/.+)$/;

/** Tells a file that says how a thread went from one that says what was said and done: a reply, a prompt, a trace. */
export function isSpineFile(path: string): boolean {
  return spine.test(path);
}
