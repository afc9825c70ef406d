import { describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { JsonObject } from '../../src/json.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread } from '../../src/thread/end-thread.ts';
import { resumeThread, suspendThread, type SuspensionDraft } from '../../src/thread/suspend-thread.ts';
import { startThread } from '../../src/thread/start-thread.ts';
import { type ThreadRow, threadRows } from '../../src/thread/export-thread.ts';
import type { CommitOf, ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { forge } from '../verify/forge-commit.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes/encode-workflow.ts';
import { agent, loop, startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

async function rowsOf(repository: MapRepository, { id, head }: ThreadState, from: ObjectId = head.id) {
  const rows: ThreadRow[] = [];
  for await (const row of threadRows(repository, id, from)) rows.push(row);
  return rows;
}

async function suspended(repository: MapRepository, draft: Partial<SuspensionDraft> = {}) {
  const waiting = await suspendThread(repository, await startLoop(repository), suspensionDraft(draft));
  const { head } = waiting;
  if (head.kind !== 'suspend') throw new Error('it waits');
  return { waiting, head };
}

const usage = { inputTokens: 1, outputTokens: 2, turns: 1 };

test('the rows of a thread are its start, its steps and its end, oldest first, with links to their texts', async () => {
  const repository = createMapRepository();
  const limits = { maxSteps: 5 };
  const start = await startLoop(repository, { limits });
  const one = await appendStep(repository, start, stepDraft());
  const ended = await endThread(repository, one, { outcome: 'failed', returnCode: 3, summary: 'No.' });
  const step = one.head as CommitOf<'step'>;
  const { node: end } = ended.head as CommitOf<'end'>;
  const { node } = start.start;
  expect(await rowsOf(repository, ended)).toStrictEqual([
    {
      role: '__start__',
      content: { $cas: node.prompt },
      meta: { thread: start.id, workflow: 'loop', hash: { $cas: node.workflow }, depth: 0, limits },
      timestamp: node.startedAtMs,
      by: `${repository.committer.name} <${repository.committer.email}>`,
    },
    { role: 'writer', content: { $cas: step.node.content }, meta: { $status: 'done' }, timestamp: 1_795_262_401_500 },
    {
      role: '__end__',
      content: { $cas: end.summary },
      meta: { outcome: 'failed', returnCode: 3 },
      timestamp: end.completedAtMs,
    },
  ]);
  const unlimited = await startLoop(repository);
  expect((await rowsOf(repository, unlimited))[0]?.meta).toMatchObject({ limits: null });
});

describe('the row of a suspended turn', () => {
  test('tells all of the turn', async () => {
    const repository = createMapRepository();
    const attempts = [{ text: 'no', errors: ['not like this'], usage }];
    const trace: SuspensionDraft['trace'] = { durationMs: 1, turns: [] };
    const due = 1_795_262_460_000;
    const { waiting, head } = await suspended(repository, { text: 'Which?', usage, attempts, trace, due });
    const attempt = head.node.attempts[0]!;
    expect((await rowsOf(repository, waiting))[1]).toStrictEqual({
      role: '__suspend__',
      content: { $cas: head.node.content },
      meta: {
        suspension: { $cas: head.hash },
        role: 'writer',
        reason: 'a question',
        cause: 'agent',
        due,
        rule: 0,
        agent: { $cas: head.node.agent },
        prompt: { $cas: head.node.prompt },
        react: { $cas: head.node.react },
        attempts: [
          {
            attempt: { $cas: attempt },
            content: { $cas: head.index.find(({ path }) => path === 'attempts/01/output.md')!.hash },
            errors: ['not like this'],
            usage,
          },
        ],
        usage,
      },
      timestamp: head.node.suspendedAtMs,
    });
  });

  test('leaves out what there is not, and has the version of the agent where there is one', async () => {
    const repository = createMapRepository();
    const { waiting, head } = await suspended(repository);
    const [, row] = await rowsOf(repository, waiting);
    expect(row).toMatchObject({ content: '', meta: { react: null, attempts: [], usage: null } });
    expect(row?.meta).not.toHaveProperty('due');
    expect(row?.meta).not.toHaveProperty('agentVersion');
    const versioned = forge(repository, head.id, ({ node }) => (node['agentVersion'] = 'large-1'));
    expect((await rowsOf(repository, waiting, versioned))[1]?.meta).toMatchObject({ agentVersion: 'large-1' });
  });
});

describe('the row of a resumption', () => {
  test('tells what was answered, by whom, and how much more the thread may use', async () => {
    const repository = createMapRepository();
    const { waiting, head } = await suspended(repository);
    const resumed = await resumeThread(repository, waiting, 'the left one', { maxSteps: 3 });
    const from = forge(repository, resumed.head.id, ({ node }) => (node['by'] = 'A U Thor <a@b>'));
    const { node } = resumed.head as CommitOf<'resume'>;
    expect((await rowsOf(repository, resumed, from)).at(-1)).toStrictEqual({
      role: '__resume__',
      content: { $cas: node.answer },
      meta: { suspension: { $cas: head.hash }, more: { maxSteps: 3 } },
      timestamp: node.resumedAtMs,
      by: 'A U Thor <a@b>',
    });
  });

  test('is empty but for the suspension where nothing was said', async () => {
    const repository = createMapRepository();
    const { waiting, head } = await suspended(repository);
    const row = (await rowsOf(repository, await resumeThread(repository, waiting, undefined))).at(-1);
    expect(row).toMatchObject({ role: '__resume__', content: '' });
    expect(row?.meta).toStrictEqual({ suspension: { $cas: head.hash } });
  });
});

describe('the meta of a step', () => {
  const link = { type: 'string', format: 'cas_ref' };
  const schema = {
    type: 'object',
    properties: { link, links: { type: 'array', items: { properties: { at: link } } } },
  };
  const rowMeta = async (metaFor: (hash: string) => JsonObject) => {
    await prepareHashing();
    const repository = createMapRepository();
    const batch = new ObjectBatch();
    const roles = { ...loop.roles, writer: { ...loop.roles['checker']!, schema } };
    const workflow = writeWorkflowTree(batch, { ...loop, roles });
    const start = await startThread(repository, batch, { workflow, prompt: 'Write.', agents: { writer: agent } });
    const { hash } = start.start;
    const state = await appendStep(repository, start, stepDraft({ meta: metaFor(hash) }));
    return { hash, meta: (await rowsOf(repository, state)).at(-1)?.meta };
  };

  test('has an inline pointer in place of what its schema calls a link, and no other', async () => {
    const { hash, meta } = await rowMeta((to) => ({ link: to, links: [{ at: to, of: to }, { at: to }], other: to }));
    const inline = { $cas: hash };
    expect(meta).toStrictEqual({ link: inline, links: [{ at: inline, of: hash }, { at: inline }], other: hash });
  });

  test('keeps inline pointers wherever they stand, and all other values', async () => {
    const of = (to: string): JsonObject => ({
      $status: 'done',
      list: [{ $cas: to }, [{ deep: { $cas: to, title: 'x' } }], null, 1, true],
      $cas: 'no hash',
    });
    const { hash, meta } = await rowMeta(of);
    expect(meta).toStrictEqual(of(hash));
  });
});
