import { describe, expect, test } from 'vitest';
import { ObjectBatch } from '../../../src/git/stores/publish.ts';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { describeThread } from '../../../src/engine/describe/describe.ts';
import { readListed } from '../../../src/engine/describe/read-listed.ts';
import { appendStep } from '../../../src/thread/append-step.ts';
import { endThread, resumeThread, startThread, suspendThread } from '../../../src/thread/thread-verbs.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { writeWorkflowTree } from '../../../src/workflow/nodes.ts';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { createTemporaryRepository, type TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { agent, loop, stepDraft } from '../../thread/thread-fixture.ts';

/** Starts a thread in which `when` decides after each step of the writer whether the checker is next. */
async function start(repository: Repository, when: string, prompt?: string): Promise<ThreadState> {
  await prepareHashing();
  const batch = new ObjectBatch();
  const moderator = [
    { from: '__start__', to: 'writer', when: null },
    { from: 'writer', to: 'checker', when, ...(prompt && { prompt }) },
    { from: 'writer', to: 'writer', when: null },
    { from: 'checker', to: 'writer', when },
    { from: 'checker', to: 'checker', when: null },
    { from: '__resume__', to: 'checker', when: null },
  ];
  const workflow = writeWorkflowTree(batch, { ...loop, moderator });
  return startThread(repository, batch, { workflow, prompt: '# Write\n\nIt.\n', agents: { writer: agent } });
}

async function grow(repository: Repository, state: ThreadState, steps: number): Promise<ThreadState> {
  let grown = state;
  for (let number = 1; number <= steps; number += 1) {
    const meta = { $status: number % 3 === 0 ? 'again' : 'done' };
    const own = number % 5 === 0 ? { ...agent, name: 'other' } : agent;
    const role = number % 2 === 0 ? 'checker' : 'writer';
    grown = await appendStep(repository, grown, stepDraft({ role, meta, agent: own, text: `Reply ${number}.` }));
  }
  return grown;
}

/** What a list says, read for a list and read as for one thread. */
async function both(temporary: TemporaryRepository, id: string): Promise<[unknown, unknown]> {
  const repository = await temporary.open();
  const found = await readListed(readingContext(repository), await getThread(repository, id), () => true);
  const { head: _head, ...listed } = found!;
  const whole = await describeThread(readingContext(await temporary.open()), id);
  return [listed, Object.fromEntries(Object.entries(whole).filter(([name]) => name in listed))];
}

const suspension = {
  role: 'writer',
  reason: 'Which language?',
  cause: 'agent' as const,
  prompt: 'You are the writer.',
  attempts: [],
  agent,
  rule: 0,
  usage: null,
};

const conditions = [
  "$steps[-1].meta.`$status` = 'again'",
  "$steps[-1].agent = 'robot'",
  "$steps[-1].agent = 'other'",
  "$steps[-1].text = 'Reply 3.'",
  "$steps[-2].text = 'Reply 1.'",
  '$count($steps) = 3',
  "$visits('writer') = 2",
  "$first('writer').`$status` = 'done' and $last('checker').`$status` = 'again'",
  "$count($steps[status='again']) > 1",
  "'Reply 1.' in $steps.text",
  '$start.depth = 0 and $steps[-1].meta.nothing.there',
  'this is no JSONata',
];

describe.each(conditions)('a thread whose rules ask for %s', (when) => {
  test('is listed as one that is read as a whole', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    let state = await start(repository, when);
    for (let number = 0; number < 6; number += 1) {
      const [listed, whole] = await both(temporary, state.id);
      expect(listed).toEqual(whole);
      state = await grow(repository, state, number);
    }
  });
});

test('prompts of rules are rendered, and one that cannot be keeps the thread from going on', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  for (const prompt of ['{{ _body }} by {{ steps[0].agent }}', '{{ nothing }}', '{% bad %}']) {
    const { id } = await grow(repository, await start(repository, 'true', prompt), 1);
    const [listed, whole] = await both(temporary, id);
    expect(listed).toEqual(whole);
  }
});

test('a thread that waits, was resumed, has ended or goes on after its end is listed as it is', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  let state = await grow(repository, await start(repository, "$steps[-1].agent = 'robot'"), 2);
  const same = async (): Promise<void> => {
    const [listed, whole] = await both(temporary, state.id);
    expect(listed).toEqual(whole);
  };
  state = await suspendThread(repository, state, suspension);
  await same();
  state = await resumeThread(repository, state, 'English.');
  await same();
  state = await endThread(repository, state, { outcome: 'completed', returnCode: 0, summary: 'All is well.\n' });
  await same();
});

test('the message of a commit is believed of nothing', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const { id, head } = await grow(repository, await start(repository, "$visits('writer') = 2"), 3);
  const git = (...argv: string[]): string => temporary.git(...argv).trim();
  const [whole] = await both(temporary, id);
  const chain = git('rev-list', '--reverse', head.id).split('\n');
  const messages: ((at: number) => string)[] = [
    () => 'nothing',
    () => 'x\n\nUwf-Node: 0000000000000\nUwf-Type: thread-start\n',
    (at) => git('log', '-1', '--format=%B', chain[(at + 1) % chain.length]!),
  ];
  for (const messageOf of messages) {
    let parents: string[] = [];
    for (const [at, commit] of chain.entries()) {
      parents = ['-p', git('commit-tree', `${commit}^{tree}`, ...parents, '-m', messageOf(at))];
    }
    git('update-ref', `refs/threads/${id}`, parents[1]!);
    const [listed, again] = await both(temporary, id);
    expect(listed).toEqual(whole);
    expect(again).toEqual(whole);
    expect((await getThread(await temporary.open(), id)).head).toBe(parseObjectId(parents[1]!));
  }
});

test('a thread of many steps takes as many objects as one of few', async () => {
  for (const when of ["$visits('writer') = 99", "$steps[-1].meta.`$status` = 'again'"]) {
    const counts: number[] = [];
    for (const steps of [4, 10]) {
      const temporary = createTemporaryRepository();
      const repository = await temporary.open();
      const { id } = await grow(repository, await start(repository, when), steps);
      const pointer = await getThread(repository, id);
      const { repository: again, read } = watched(await temporary.open());
      await readListed(readingContext(again), pointer, () => true);
      counts.push(read.length);
    }
    expect(counts[1]).toBe(counts[0]);
  }
});
