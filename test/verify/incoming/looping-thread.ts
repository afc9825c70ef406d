import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { appendStep, type StepDraft } from '../../../src/thread/append-step.ts';
import { type StartRequest, startThread } from '../../../src/thread/thread-verbs.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { writeWorkflowTree } from '../../../src/workflow/nodes.ts';
import { loop, stepDraft } from '../../thread/thread-fixture.ts';

type Called = Pick<StartRequest, 'id' | 'depth' | 'parent'>;

/** A thread in which a rule is asked before each step after the first. */
export async function startWith(remote: Repository, when: string, called?: Called): Promise<ThreadState> {
  const batch = new ObjectBatch();
  const rules = [
    { from: '__start__', to: 'writer', when: null },
    { from: 'writer', to: 'writer', when },
  ];
  const workflow = writeWorkflowTree(batch, { ...loop, moderator: rules });
  const agents = { writer: { name: 'robot', package: 'builtin:scripted', version: '1.0.0', config: {} } };
  return startThread(remote, batch, { workflow, prompt: 'Write.', agents, ...called });
}

/** Adds steps that the rules of such a thread agree with. */
export async function grow(
  remote: Repository,
  state: ThreadState,
  steps: number,
  textOf: (number: number) => string,
  more: Partial<StepDraft> = {},
): Promise<ThreadState> {
  let grown = state;
  for (let count = 0; count < steps; count++) {
    const number = grown.tally.steps + 1;
    const draft = { role: 'writer', rule: number === 1 ? 0 : 1, meta: { $status: 'again' }, text: textOf(number) };
    grown = await appendStep(remote, grown, stepDraft({ ...draft, prompt: `Do step ${number}.`, ...more }));
  }
  return grown;
}
