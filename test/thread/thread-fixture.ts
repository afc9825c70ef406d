import { prepareHashing } from '../../src/cas/hash.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { Repository } from '../../src/git/repository.ts';
import type { StepDraft } from '../../src/thread/append-step.ts';
import {
  type StartRequest,
  startThread,
  type SuspensionDraft,
  type ThreadParent,
} from '../../src/thread/thread-verbs.ts';
import { callIdFor } from '../../src/thread/new-thread-id.ts';
import { type CommitOf, committedAt, stateCommit, stateHash, type ThreadState } from '../../src/thread/thread-state.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes.ts';

const role = {
  description: 'does something',
  systemPrompt: 'Do it.',
  extractPrompt: 'Say how.',
  schema: {
    type: 'object',
    properties: { $status: { enum: ['again', 'done'] }, link: { type: 'string', format: 'cas_ref' } },
    required: ['$status'],
  },
};

/** A workflow of two roles that loops until the checker says done. */
export const loop: WorkflowDefinition = {
  name: 'loop',
  description: 'writes until the checker accepts',
  roles: { writer: role, checker: role },
  moderator: [
    { from: '__start__', to: 'writer', when: null },
    { from: 'writer', to: 'checker', when: null },
    { from: 'checker', to: 'writer', when: "$steps[-1].meta.`$status` = 'again'" },
    { from: 'checker', to: '__end__', when: null },
  ],
};

export const agent = { name: 'robot', package: 'builtin:scripted', version: '1.0.0', config: {} };

/** Starts a thread of `loop`. */
export async function startLoop(repository: Repository, request: Partial<StartRequest> = {}): Promise<ThreadState> {
  await prepareHashing();
  const batch = new ObjectBatch(repository.objects.format);
  const workflow = writeWorkflowTree(batch, loop);
  return startThread(repository, batch, { workflow, prompt: 'Write a poem.', agents: { writer: agent }, ...request });
}

let calls = 0;

/** What the start of a child thread asks for, whose caller stands where it is; each is another call. */
export function calledBy(
  caller: ThreadState,
  role = 'writer',
): Required<Pick<StartRequest, 'id' | 'depth' | 'parent'>> & { parent: ThreadParent } {
  const call = { thread: caller.id, key: `call ${(calls += 1)}` };
  const parent = { thread: caller.start.hash, state: stateHash(caller), role, head: caller.head.id, call };
  const id = callIdFor({ ...call, ordinal: 0, state: committedAt(stateCommit(caller)), role });
  return { id, depth: caller.start.node.depth + 1, parent };
}

/** A step as the engine hands it over. */
export function stepDraft(draft: Partial<StepDraft> = {}): StepDraft {
  return {
    role: 'writer',
    meta: { $status: 'done' },
    text: '# A poem\n\nRoses are red.\n',
    prompt: 'You are the writer.',
    agent,
    rule: 0,
    usage: null,
    attempts: [],
    childThreads: [],
    linked: { waiting: [], nodes: [], commits: [], missing: [] },
    startedAtMs: 1_795_262_400_000,
    completedAtMs: 1_795_262_401_500,
    ...draft,
  };
}

/** A suspension as the engine hands it over. */
export function suspensionDraft(draft: Partial<SuspensionDraft> = {}): SuspensionDraft {
  return {
    role: 'writer',
    rule: 0,
    reason: 'a question',
    cause: 'agent',
    prompt: 'Write.',
    agent,
    usage: null,
    attempts: [],
    ...draft,
  };
}

/** The step that a thread stands at. */
export function stepAt({ head }: ThreadState): CommitOf<'step'> {
  if (head.kind !== 'step') throw new Error('its head is no step');
  return head;
}
