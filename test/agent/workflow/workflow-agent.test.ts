import { describe, expect, test } from 'vitest';

import type { ChildOutcome } from '../../../src/agent/contract.ts';
import { createAgent } from '../../../src/agent/workflow/workflow-agent.ts';
import { agentRequest, type ObservedRequest } from '../../helpers/agent-request.ts';

const ended: Extract<ChildOutcome, { kind: 'ended' }> = {
  kind: 'ended',
  endHash: '0123456789ABC',
  threadId: '01JD0000000000000000000001',
  returnCode: 0,
  outcome: 'completed',
  summary: 'All phases are done.\n',
};

function withChild(outcome: ChildOutcome): ObservedRequest {
  return agentRequest({ runChild: () => Promise.resolve(outcome) });
}

test.each([
  ['what the rule says', 'Fix issue 7.', 'Fix issue 7.'],
  ['the task, where the rule says nothing', undefined, 'Do the work.'],
])('the child is told %s, with the signal of the turn', async (_, edgePrompt, prompt) => {
  const requests: unknown[] = [];
  const request = agentRequest({
    edgePrompt,
    runChild: (child) => {
      requests.push(child);
      return Promise.resolve(ended);
    },
  });
  await createAgent({ workflow: 'develop' }).run(request);
  expect(requests).toEqual([{ workflow: 'develop', prompt, signal: request.signal }]);
});

describe('a child that ended', () => {
  test.each([
    ['completed', 0, 'done'],
    ['failed', 1, 'failed'],
    ['cancelled', 130, 'cancelled'],
  ] as const)('%s is told with its summary and its end', async (outcome, returnCode, $status) => {
    const reply = await createAgent({ workflow: 'develop' }).run(withChild({ ...ended, outcome, returnCode }));
    expect(reply).toEqual({
      kind: 'reply',
      text: 'All phases are done.\n',
      meta: { $status },
      childThreads: ['0123456789ABC'],
    });
  });

  test.each([
    ['by its return code', 7, 'aborted'],
    ['by its outcome', 8, 'broken'],
    ['by the default', 0, 'done'],
  ] as const)('is told as configured, %s', async (_, returnCode, $status) => {
    const outcome = returnCode === 0 ? 'completed' : 'failed';
    const agent = createAgent({ workflow: 'develop', statuses: { '7': 'aborted', failed: 'broken' } });
    expect(await agent.run(withChild({ ...ended, outcome, returnCode }))).toMatchObject({ meta: { $status } });
  });
});

test('a child that is suspended suspends its parent with the same words, naming no thread', async () => {
  const child: ChildOutcome = { kind: 'suspended', threadId: '01JD0000000000000000000001', reason: 'Which branch?' };
  expect(await createAgent({ workflow: 'develop' }).run(withChild(child))).toEqual({
    kind: 'suspend',
    cause: 'child',
    reason: 'Which branch?',
  });
});
