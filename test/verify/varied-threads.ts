import { prepareHashing } from '../../src/cas/hash.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { type SuspendCause, suspendCauses } from '../../src/schema/built-in/thread-start.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, resumeThread, startThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import type { ThreadId } from '../../src/thread/thread-id.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import { writeWorkflowTree } from '../../src/workflow/nodes.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { loop, stepDraft, suspensionDraft } from '../thread/thread-fixture.ts';
import { createBlockFixture, runTeam } from './blocks/block-fixture.ts';
import { takeThread } from './blocks/branch-campaign.ts';
import { putTogether, takeApart, type ForgedLine } from './forge.ts';
import { growRichThread } from './rich-thread.ts';

/** A thread that a forger works on. */
export type Specimen = {
  /** The id of its ref. */
  id: ThreadId;
  head: ObjectId;
  lines: readonly ForgedLine[];
  /** What the thread keeps that is no node. */
  base: MapRepository;
};

/** Threads that have all kinds of commits between them: loops, children, pokes, blocks, people, programs, each cause, a fork. */
export async function growVariedThreads(): Promise<Specimen[]> {
  await prepareHashing();
  const rich = createMapRepository();
  // What was taken up again has all that was there before.
  const again = (await growRichThread(rich)).at(-1);
  const base = createMapRepository();
  const turns = await growTurns(base);
  if (again === undefined) throw new Error('there is no thread');
  return [
    await specimenOf(rich, again),
    await specimenOf(base, { ...turns, id: newThreadId(base) }),
    await growBlock(),
  ];
}

async function specimenOf(base: MapRepository, { id, head }: ThreadState): Promise<Specimen> {
  return { id, head: head.id, lines: await takeApart(base, id, head.id), base };
}

const role = { ...loop.roles['writer']!, schema: { type: 'object', properties: { $status: { type: 'string' } } } };

const release: WorkflowDefinition = {
  name: 'release',
  description: 'codes and tests until the tests pass',
  roles: { coder: role, tester: role, judge: { ...role, systemPrompt: 'Decide.' } },
  moderator: [
    { from: '__start__', to: 'coder', when: null },
    { from: 'coder', to: 'tester', when: null },
    { from: 'tester', to: 'judge', when: "$steps[-1].meta.`$status` = 'failed'", prompt: 'Why: {{ _body }}?' },
    { from: 'tester', to: '__end__', when: null },
    { from: 'judge', to: 'tester', when: null },
  ],
};

const by = (name: string): typeof coder => ({ ...coder, name, package: `builtin:${name}` });
const coder = { name: 'coder', package: 'uwf-agent-sample', version: '1', config: {} };
const program = { ...by('command'), config: { statuses: { 0: 'passed', default: 'failed' } } };
const output = (line: string): string => `> pkg@1.0.0 test\n> node test.js\n\n${line}\n\nnpm error code 1\n`;

/** A thread with a suspension of each cause, turns of programs and of people, and a turn that a person gave. */
async function growTurns(repository: MapRepository): Promise<ThreadState> {
  const batch = new ObjectBatch();
  const workflow = writeWorkflowTree(batch, release);
  const agents = { coder, tester: program, judge: by('human') };
  let state = await startThread(repository, batch, { workflow, prompt: 'Add it up.', agents });
  const givers: Partial<Record<SuspendCause, string>> = {
    child: 'workflow',
    human: 'human',
    permission: 'acp',
    rule: 'rules',
  };
  const prompts: Readonly<Record<string, string>> = { human: 'Do it.', rules: 'Add it up.' };
  for (const cause of suspendCauses) {
    const agent = givers[cause] === undefined ? coder : by(givers[cause]);
    const turn = {
      role: 'coder',
      agent,
      cause,
      reason: `It is ${cause}.`,
      prompt: prompts[agent.name] ?? 'Code.',
    };
    const due = cause === 'agent' ? { due: 1_795_262_500_000 } : {};
    state = await suspendThread(
      repository,
      state,
      suspensionDraft({ ...turn, ...due, ...(cause === 'secret' && { text: 'Hm.' }) }),
    );
    state = await resumeThread(repository, state, cause === 'human' ? 'yes' : undefined);
  }
  const step = async (draft: Parameters<typeof stepDraft>[0]): Promise<void> => {
    state = await appendStep(repository, state, stepDraft(draft));
  };
  const failed = { role: 'tester', agent: program, meta: { $status: 'failed' }, text: output('2 failed') };
  await step({ role: 'coder', agent: coder, text: 'Coded.' });
  await step({ ...failed, rule: 1 });
  const asked = { role: 'judge', agent: by('human'), rule: 2, prompt: `Why: ${failed.text}?` };
  state = await suspendThread(
    repository,
    state,
    suspensionDraft({ ...asked, cause: 'human', reason: 'Why?', text: asked.prompt }),
  );
  state = await resumeThread(repository, state, 'The sum is wrong.');
  await step({ ...asked, text: 'The sum is wrong.', meta: {} });
  // The rules say that the tester is next.
  await step({ role: 'judge', agent: by('human'), rule: null, prompt: 'Decide.', text: 'Go on.', meta: { more: 1 } });
  const passed = { role: 'tester', agent: program, rule: 4, meta: { $status: 'passed' }, text: output('3 passed') };
  await step(passed);
  return endThread(repository, state, { outcome: 'completed', returnCode: 0, summary: passed.text });
}

async function growBlock(): Promise<Specimen> {
  const worker = { description: 'works', systemPrompt: 'Work.', schema: role.schema };
  const fixture = await createBlockFixture();
  const lines = await takeThread(
    fixture,
    await runTeam(fixture, {
      name: 'small-team',
      roles: { closer: worker },
      blocks: {
        both: {
          branches: { a: { workflow: 'small' }, b: { role: 'closer', prompt: 'Do {{ key }}.' } },
          isolation: 'shared',
          join: 'all',
        },
      },
      moderator: [
        { from: '__start__', to: 'both', when: null, prompt: 'Both.' },
        { from: 'both', to: 'closer', when: null },
        { from: 'closer', to: '__end__', when: null },
      ],
    }),
  );
  const { head, repository: base } = await putTogether(lines);
  return { id: newThreadId(base), head, lines, base: createMapRepository() };
}
