import { agent, workflow } from './one-role.js';

/** The modules that {@link openAppender} uses. */
export const appenderSources = [
  'src/cas/hash.ts',
  'src/cas/node.ts',
  'src/git/stores/publish.ts',
  'src/git/open-repository.ts',
  'src/schema/built-in.ts',
  'src/thread/append-step.ts',
  'src/thread/thread-verbs.ts',
  'src/workflow/nodes.ts',
];

/** The committer in benchmarks. */
export const who = { name: 'Bench', email: 'bench@example.org' };

/**
 * Starts a thread to append steps to, each of six nodes of 1 KiB: the step, the prompt, the reply and three artifacts.
 *
 * @param source the result of `loadSource` for `appenderSources`
 */
export async function openAppender(source, folder) {
  await source.prepareHashing();
  const repository = await source.openRepository(folder, { committer: who });
  const batch = new source.ObjectBatch();
  let state = await source.startThread(repository, batch, {
    workflow: source.writeWorkflowTree(batch, workflow),
    prompt: 'Append.',
    agents: { writer: agent },
  });
  return {
    repository,
    async append(draft) {
      state = await source.appendStep(repository, state, draft);
    },
  };
}

/** The argument of `appendStep` for a step of six nodes of 1 KiB. */
export function draftStep(source, number) {
  const nodes = [1, 2, 3].map((which) => source.encodeNode(source.builtIn.content, { text: prose(number, which) }));
  return {
    role: 'writer',
    meta: { $status: 'done' },
    text: prose(number, 4),
    prompt: prose(number, 5),
    agent,
    rule: 0,
    usage: null,
    attempts: [],
    childThreads: [],
    linked: { waiting: [], nodes, commits: [], missing: [] },
    startedAtMs: 1_795_262_400_000 + number,
    completedAtMs: 1_795_262_400_001 + number,
  };
}

/** 1 KiB of words that no two steps share. */
export function prose(number, which) {
  let text = `${number} ${which}`;
  for (let seed = number * 7 + which; text.length < 1024; seed = (seed * 48_271 + 11) % 2_147_483_647) {
    text += ` ${seed.toString(36)}`;
  }
  return `${text.slice(0, 1023)}\n`;
}
