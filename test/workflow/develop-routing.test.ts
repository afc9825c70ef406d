import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { checkReply, decide, type DecisionContext } from '../../src/moderator/decide.ts';
import type { StepView } from '../../src/thread/step-view.ts';
import type { JsonObject } from '../../src/json.ts';
import { loadWorkflowFile } from '../../src/workflow/load/resolve-workflow.ts';

const file = fileURLToPath(new URL('../../fixtures/workflows/develop.yaml', import.meta.url));
const { definition } = await loadWorkflowFile(file);

const first = '0000000000001';
const second = '0000000000002';
const third = '0000000000003';
const phases = [
  { hash: first, title: 'First' },
  { hash: second, title: 'Second' },
];

function step(role: string, meta: JsonObject, text = ''): StepView {
  const status = typeof meta['$status'] === 'string' ? meta['$status'] : null;
  const rest = { hash: '', agent: 'script', usage: null, startedAtMs: 0, completedAtMs: 0 };
  return { role, meta, output: meta, text, status, ...rest };
}

const planned = step('planner', { $status: 'planned', phases });
const coded = (completedPhase: string) => step('coder', { $status: 'done', completedPhase });
const approved = step('reviewer', { $status: 'approved' });
const rejected = step('reviewer', { $status: 'rejected', findings: ['no test'] });

const context = (...steps: StepView[]): DecisionContext => ({
  threadId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  start: { prompt: 'a task', workflow: 'develop', depth: 0, startedAtMs: 0 },
  steps,
});

const next = (...steps: StepView[]) => decide(definition!.moderator, context(...steps));

describe('develop', () => {
  test('begins with the planner', async () => {
    expect(await next()).toMatchObject({ kind: 'role', role: 'planner' });
  });

  test('ends as failed when the planner aborts, with the reason as its summary', async () => {
    expect(await next(step('planner', { $status: 'aborted', reason: 'it is a duplicate' }))).toMatchObject({
      kind: 'end',
      returnCode: 1,
      summary: 'The task was not taken on: it is a duplicate',
    });
  });

  test('hands the plan to the coder, beginning with the first phase', async () => {
    const decision = await next(planned);
    expect(decision).toMatchObject({ kind: 'role', role: 'coder' });
    expect(decision).toHaveProperty('prompt', expect.stringContaining(`1. First (${first})\n2. Second (${second})`));
    expect(decision).toHaveProperty('prompt', expect.stringContaining(`uwf cas get ${first}`));
  });

  test('comes back to the coder while a phase is left, and names only those that are', async () => {
    const decision = await next(planned, coded(second));
    expect(decision).toMatchObject({ kind: 'role', role: 'coder' });
    expect(decision).toHaveProperty('prompt', expect.stringContaining(`- First (${first})`));
    expect(decision).toHaveProperty('prompt', expect.not.stringContaining('Second'));
  });

  test('a phase done twice is no substitute for one that is not done', async () => {
    expect(await next(planned, coded(first), coded(first))).toMatchObject({ kind: 'role', role: 'coder' });
  });

  test('goes to the reviewer when all phases are done, in whatever order', async () => {
    const decision = await next(planned, coded(second), coded(first));
    expect(decision).toMatchObject({ kind: 'role', role: 'reviewer' });
    expect(decision).toHaveProperty('prompt', expect.stringContaining(`- First (${first})\n- Second (${second})`));
  });

  test('a plan of one phase is done with that phase', async () => {
    const small = step('planner', { $status: 'planned', phases: [{ hash: first, title: 'All of it' }] });
    expect(await next(small, coded(first))).toMatchObject({ kind: 'role', role: 'reviewer' });
  });

  test('goes back to the coder with the findings when the reviewer does not approve', async () => {
    const decision = await next(planned, coded(first), coded(second), rejected);
    expect(decision).toMatchObject({ kind: 'role', role: 'coder', prompt: expect.stringContaining('- no test') });
  });

  test('goes to the reviewer again after what was found is put right', async () => {
    expect(await next(planned, coded(first), coded(second), rejected, coded(second))).toMatchObject({
      kind: 'role',
      role: 'reviewer',
    });
  });

  test('goes to the tester when the reviewer approves', async () => {
    expect(await next(planned, coded(first), coded(second), approved)).toMatchObject({ kind: 'role', role: 'tester' });
  });

  test('goes back to the coder with the output when the tests do not pass', async () => {
    const failed = step('tester', { $status: 'failed' }, 'expected 2, found 3');
    const decision = await next(planned, coded(first), coded(second), approved, failed);
    expect(decision).toMatchObject({
      kind: 'role',
      role: 'coder',
      prompt: expect.stringContaining('expected 2, found 3'),
    });
  });

  test('goes to the committer when the tests pass, and then ends', async () => {
    const passed = step('tester', { $status: 'passed' });
    const steps = [planned, coded(first), coded(second), approved, passed];
    expect(await next(...steps)).toMatchObject({ kind: 'role', role: 'committer' });
    expect(await next(...steps, step('committer', { $status: 'committed', commit: '3f2a91c' }))).toMatchObject({
      kind: 'end',
      returnCode: 0,
      summary: 'Done and committed as 3f2a91c.',
    });
  });

  test('refuses a completed phase that was not planned', async () => {
    const { steps, start } = context(planned);
    const reply = (completedPhase: string) => ({ meta: { $status: 'done', completedPhase }, steps, start });
    const checks = definition!.roles['coder']!.check!;
    expect(await checkReply(checks, reply(second))).toEqual([]);
    expect(await checkReply(checks, reply(third))).toEqual([expect.stringContaining('not the hash of a phase')]);
  });
});
