import type { AgentRequest } from '../../agent/contract.ts';
import { prepareHashing } from '../../cas/hash.ts';
import { ObjectBatch } from '../../git/stores/publish.ts';
import type { RefEdit } from '../../git/repository.ts';
import { startThread } from '../../thread/thread-verbs.ts';
import { newThreadId } from '../../thread/new-thread-id.ts';
import { activeRef, scratchRef, type ThreadId } from '../../thread/thread-id.ts';
import { END, START } from '../../workflow/definition.ts';
import { writeWorkflowTree } from '../../workflow/nodes.ts';
import { commonRequest } from './admission.ts';
import { enterRunTree, leaveRunTree, runTreeOf } from '../limits/enter-run-tree.ts';
import type { Machine, Telling } from '../engine-context.ts';
import { forgetThread } from '../../thread/remove-thread.ts';

type TrialThread = { id: ThreadId; role: string } & Pick<AgentRequest, 'cas' | 'env'>;

const ROLE = 'tested';

const definition = {
  name: 'agent-test',
  description: "is there while 'uwf agent test' runs",
  roles: { [ROLE]: { description: '', systemPrompt: '', extractPrompt: '', schema: {} } },
  moderator: [
    { from: START, to: ROLE, when: null },
    { from: ROLE, to: END, when: null },
  ],
};

/** Starts a thread for trial turns, which can put nodes under it. Its refs are removed afterwards. */
export async function withTrialThread<T>(
  engine: Machine & Telling,
  take: (thread: TrialThread) => Promise<T>,
): Promise<T> {
  const { repository } = engine;
  const id = newThreadId(repository);
  enterRunTree(engine, id, 'the test of the agent');
  await prepareHashing();
  const batch = new ObjectBatch(repository.objects.format);
  const workflow = writeWorkflowTree(batch, definition);
  await startThread(repository, batch, { id, workflow, prompt: definition.description, agents: {} });
  try {
    const tree = runTreeOf(engine, { id, depth: 0 }, engine.config.limits ?? {});
    const { cas, env } = commonRequest(engine, id, ROLE, { cwd: engine.cwd, isOwn: true, tree }, engine.redaction());
    return await take({ id, role: ROLE, cas, env });
  } finally {
    const edits: RefEdit[] = [];
    for (const name of [activeRef(id), scratchRef(id)]) {
      const value = await repository.refs.read(name);
      if (value !== undefined) edits.push({ name, expected: value, value: null });
    }
    await repository.refs.update(edits);
    forgetThread(repository, id);
    leaveRunTree(engine, id);
  }
}
