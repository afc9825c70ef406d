import { agent } from './one-role.js';

/**
 * Adds the step of a benchmark's one role to a batch.
 *
 * @param source the result of `loadSource` for `longThreadSources`
 * @param {object} step
 * @param step.tally what the commits before come to
 * @param {string} step.start the hash of the thread's start
 * @param {readonly string[]} step.ancestors the hashes of the steps before, newest first, as the step before has got them
 * @param {string} step.parent the commit before
 * @param {number} step.rule the rule that gave the turn to the role
 * @param {number} step.atMs when it was over, in ms since 1970
 * @param step.content the node of the reply
 * @param step.prompt the node of the prompt
 * @param {readonly object[]} [step.files] further files of the commit
 * @returns the commit, what it and those before come to, and the ancestors of the step after it
 */
export function writeStep(source, repository, batch, step) {
  const { draftCommit, agentNode, encodeNode, builtIn, totalsOf, tallyAfter, eventIn } = source;
  const { tally, start, ancestors, parent, rule, atMs, content, prompt, files = [] } = step;
  const node = encodeNode(builtIn['thread-step'], {
    totals: totalsOf(tally),
    number: tally.steps + 1,
    role: 'writer',
    meta: { $status: 'done' },
    content: content.hash,
    react: null,
    start,
    previous: ancestors[0] ?? null,
    ancestors,
    compact: null,
    childThreads: [],
    agent: agentNode(agent).hash,
    prompt: prompt.hash,
    rule,
    attempts: [],
    usage: null,
    startedAtMs: atMs - 1,
    completedAtMs: atMs,
  });
  const commit = draftCommit(repository, batch, {
    kind: 'step',
    node,
    files: [{ path: 'output.md', node: content }, { path: 'prompt.md', node: prompt }, ...files],
    parents: [parent],
    before: undefined,
    atMs,
    beside: { text: content.payload.text, agent, next: 'writer' },
  });
  const head = batch.addCommit(commit);
  const after = tallyAfter(tally, { id: head, ...eventIn('step', node), commit: { parents: [parent] } });
  return { head, tally: after, ancestors: [node.hash, ...ancestors].slice(0, 11) };
}
