import { hashObject } from '../../src/git/format/object-id.ts';
import { encodeTree } from '../../src/git/format/objects.ts';
import type { Repository } from '../../src/git/repository.ts';
import { putSchema } from '../../src/schema/put.ts';
import { appendStep, pinCompaction, type StepDraft } from '../../src/thread/append-step.ts';
import { endThread, reopenThread, resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { threadCas } from '../../src/thread/thread-cas.ts';
import { stateHash, type ThreadState } from '../../src/thread/thread-state.ts';
import { agent, calledBy, startLoop, stepDraft } from '../thread/thread-fixture.ts';

const usage = { inputTokens: 11, outputTokens: 22, turns: 2, costUsd: 0.25 };

const trace: NonNullable<StepDraft['trace']> = {
  durationMs: 12,
  turns: ['first', 'second'].map((name) => ({
    input: `Do the ${name}.`,
    output: `Did the ${name}.`,
    parts: [{ kind: 'thought', text: `Hm, the ${name}.` }],
    toolCalls: [{ name: 'read', arguments: '{"path":"a"}', result: `text of ${name}`, isError: false, durationMs: 3 }],
    tokens: { input: 1, output: 2 },
    costUsd: 0.125,
    startedAtMs: 1_795_262_400_000,
    latencyMs: 5,
  })),
};

/** Makes a thread that has a node of every type and every field that uwf writes, a child, and a thread that took it up again. */
export async function growRichThread(repository: Repository): Promise<ThreadState[]> {
  const worker = { ...agent, config: { model: 'large' } };
  const start = await startLoop(repository, {
    agents: { writer: worker, checker: agent },
    limits: { maxSteps: 50, maxCostUsd: 2.5 },
  });
  const tree = await addTree(repository);
  const cas = threadCas(repository, start.id);
  const blob = Buffer.from('a file of the code\n');
  const note = await cas.put('A note');
  await cas.pin({ kind: 'blob', oid: hashObject({ type: 'blob', data: blob }), title: 'a file', path: 'src/a' }, blob);
  const type = await putSchema(repository, {
    type: 'object',
    properties: { of: { type: 'string', format: 'cas_ref' }, count: { type: 'integer' } },
  });
  await cas.putTyped(type, { of: note, count: 1, also: { $cas: note } });
  const first = await appendStep(
    repository,
    start,
    stepDraft({
      rule: 0,
      agent: worker,
      agentVersion: 'large-1',
      stopReason: 'end_turn',
      usage,
      trace,
      attempts: [{ text: 'no', errors: ['not like this', 'nor like this'], usage }],
      meta: { $status: 'done', more: { list: [1, true, 'x'] } },
    }),
  );
  await pinCompaction(repository, start.id, stateHash(first), 'So far: a poem.');
  const waiting = await suspendThread(repository, first, {
    role: 'checker',
    rule: 1,
    reason: 'a question',
    cause: 'agent',
    due: 1_795_262_460_000,
    prompt: 'Check it.',
    agent,
    usage,
    trace,
    attempts: [{ text: 'hm', errors: ['what'], usage: null }],
    text: 'Which one?',
  });
  const resumed = await resumeThread(repository, waiting, 'the left one', { maxSteps: 3 });
  const child = await growChild(repository, resumed);
  const second = await appendStep(
    repository,
    resumed,
    stepDraft({
      role: 'checker',
      rule: 1,
      meta: { $status: 'again' },
      text: 'Again.',
      childThreads: child.end ? [{ hash: child.end.hash, commit: child.end.id }] : [],
      workspace: { tree, objects: [] },
    }),
  );
  const third = await appendStep(repository, second, stepDraft({ rule: 2, text: 'Roses.' }));
  if (third.head.kind !== 'step') throw new Error('it is a step');
  const instead = stepDraft({
    rule: 2,
    text: 'Tulips.',
    replaces: third.head,
    meta: { $status: 'done', link: stateHash(first) },
  });
  const poked = await appendStep(repository, second, instead);
  const last = await appendStep(
    repository,
    poked,
    stepDraft({ role: 'checker', rule: 1, agent: { ...agent, version: '2' }, text: 'Good.' }),
  );
  const ended = await endThread(repository, last, { outcome: 'completed', returnCode: 0, summary: 'Good.' });
  return [ended, await reopenThread(repository, ended, 'go on')];
}

async function growChild(repository: Repository, caller: ThreadState): Promise<ThreadState> {
  const agents = { writer: { ...agent, name: 'idle' } };
  const child = await startLoop(repository, { ...calledBy(caller, 'checker'), agents });
  return endThread(repository, child, { outcome: 'cancelled', returnCode: 130, summary: 'cancelled' });
}

async function addTree(repository: Repository): Promise<ReturnType<typeof hashObject>> {
  const blob = { type: 'blob' as const, data: Buffer.from('left\n') };
  const data = encodeTree([{ mode: '100644', name: 'left.txt', id: hashObject(blob) }]);
  await repository.objects.write([blob, { type: 'tree', data }]);
  return hashObject({ type: 'tree', data });
}
