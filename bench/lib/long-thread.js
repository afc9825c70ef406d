import { agent, workflow } from './one-role.js';
import { writeStep } from './write-step.js';

/**
 * Writes a thread of many steps at once, each with six nodes of about a KiB: the step, the prompt, the reply, and three
 * texts that it refers to. Nothing is read back.
 *
 * @param source the result of `loadSource` for `longThreadSources`
 * @param {object} [options]
 * @param {number} [options.seed] another one gives other texts
 * @param {number} [options.bytes] how long the texts are
 * @param {typeof workflow} [options.definition] its first rule starts its role, the last one repeats it
 * @returns the thread's id, its head, and the hash of its last step
 */
export async function writeLongThread(
  source,
  repository,
  steps,
  { seed = 0, bytes = 1024, definition = workflow } = {},
) {
  const { ObjectBatch, publish, contentNode, artifactPath } = source;
  await source.prepareHashing();
  const batch = new ObjectBatch();
  const state = await source.startThread(repository, batch, {
    workflow: source.writeWorkflowTree(batch, definition),
    prompt: 'Write.',
    agents: { writer: agent },
  });
  const rest = new ObjectBatch();
  let ancestors = [];
  let head = state.head.id;
  let { tally } = state;
  for (let number = 1; number <= steps; number += 1) {
    const texts = [0, 1, 2].map((which) => contentNode(prose((seed + number) * 8 + which, bytes)));
    const refs = texts.map(({ hash }) => hash);
    const content = contentNode(prose((seed + number) * 8 + 3, bytes), refs);
    const prompt = contentNode(prose((seed + number) * 8 + 4, bytes));
    const atMs = state.start.node.startedAtMs + number;
    ({ head, tally, ancestors } = writeStep(source, repository, rest, {
      tally,
      start: state.start.hash,
      ancestors,
      parent: head,
      rule: number === 1 ? 0 : definition.moderator.length - 1,
      atMs,
      content,
      prompt,
      files: texts.map((text) => ({ path: artifactPath(text), node: text })),
    }));
  }
  await publish(repository, rest, [{ name: source.activeRef(state.id), expected: state.head.id, value: head }]);
  return { id: state.id, head, hash: ancestors[0] };
}

/** The modules that {@link writeLongThread} uses. */
export const longThreadSources = [
  'src/cas/hash.ts',
  'src/cas/node.ts',
  'src/cas/scratch.ts',
  'src/git/stores/publish.ts',
  'src/git/open-repository.ts',
  'src/git/stores/publish.ts',
  'src/schema/built-in.ts',
  'src/thread/thread-verbs.ts',
  'src/thread/commit-message.ts',
  'src/thread/draft-commit.ts',
  'src/thread/thread-state.ts',
  'src/thread/thread-commit.ts',
  'src/thread/thread-id.ts',
  'src/workflow/nodes.ts',
];

const words = 'the thread moves on when a role has answered and nothing of what was said before is lost'.split(' ');

/** Text that compresses like prose and differs for every seed. */
export function prose(seed, bytes) {
  let text = `${seed}\n`;
  for (let state = seed + 1; text.length < bytes; state = (state * 48_271) % 2_147_483_647) {
    text += `${words[state % words.length]}${state % 7 === 0 ? state : ''} `;
  }
  return text.slice(0, bytes);
}
