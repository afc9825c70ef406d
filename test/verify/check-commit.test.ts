import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { suspendThread } from '../../src/thread/thread-verbs.ts';
import { Verification } from '../../src/verify/verification.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { agent, startLoop, stepDraft } from '../thread/thread-fixture.ts';
import { addNode, type Draft, forge, store } from './forge-commit.ts';

beforeAll(prepareHashing);

const turn = {
  input: 'Do it.',
  output: 'Did it.',
  parts: [],
  toolCalls: [],
  tokens: { input: 1, output: 2 },
  startedAtMs: 1_795_262_400_000,
  latencyMs: 5,
};
const trace = { durationMs: 12, turns: [turn, { ...turn, tokens: { input: 30, output: 40 } }] };

type Thread = Record<'start' | 'step' | 'suspension' | 'code', ObjectId> & { repository: MapRepository };

async function growThread(): Promise<Thread> {
  const repository = createMapRepository();
  const begun = await startLoop(repository);
  const stepped = await appendStep(repository, begun, stepDraft({ trace }));
  const draft = { role: 'checker', rule: 1, reason: 'a question', cause: 'agent', prompt: 'Check.', agent } as const;
  const waiting = await suspendThread(repository, stepped, { ...draft, usage: null, trace, attempts: [], text: 'Hm?' });
  const who = 'A <a@b> 1795262400 +0000';
  const tree = store(repository, 'tree', '');
  const code = store(repository, 'commit', `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\nx\n`);
  return { repository, start: begun.head.id, step: stepped.head.id, suspension: waiting.head.id, code };
}

/** What is found of a commit of a thread, after a change. */
async function faultsOf(
  of: 'start' | 'step' | 'suspension',
  change: (draft: Draft, thread: Thread) => void,
): Promise<string[]> {
  const thread = await growThread();
  const forged = forge(thread.repository, thread[of], (draft) => change(draft, thread));
  return findingsOf(thread.repository, forged);
}

async function findingsOf(repository: MapRepository, head: ObjectId): Promise<string[]> {
  const { findings } = await new Verification(repository).verify(head);
  return findings.map(
    ({ commit, path, what }) => `${commit === head ? '' : 'before: '}${path === null ? '' : `${path}: `}${what}`,
  );
}

/** Puts another session into the tree, with these fields. */
function retrace({ repository }: Thread, draft: Draft, fields: object): void {
  const blob = repository.objectMap.get(draft.files.get('trace/session.json')!.id)!;
  const { payload } = JSON.parse(Buffer.from(blob.data).toString());
  const session = { ...payload, ...fields };
  draft.node['react'] = addNode(repository, draft, 'trace/session.json', builtIn['react-session'], session);
}

describe.each(['step', 'suspension'] as const)('of a %s', (of) => {
  test('the trace is that of its role and agent, and counts the tokens of its turns', async () => {
    expect(await faultsOf(of, () => undefined)).toEqual([]);
    const wrong = 'trace/session.json: it is the trace of another role or agent';
    expect(await faultsOf(of, (draft, thread) => retrace(thread, draft, { role: 'reader' }))).toEqual([wrong]);
    const other = { name: 'other', package: 'p', version: '', config: {} };
    expect(
      await faultsOf(of, (draft, thread) => {
        const hash = addNode(thread.repository, draft, 'agent.json', builtIn.agent, other);
        retrace(thread, draft, { agent: hash });
      }),
    ).toContain(wrong);
    expect(await faultsOf(of, (draft, thread) => retrace(thread, draft, { totalTokens: 72 }))).toEqual([
      'trace/session.json: its turns took 73 tokens in all',
    ]);
  });

  test('the trace may be missing, but not where it is named', async () => {
    const thread = await growThread();
    const state = await startLoop(thread.repository);
    const { head } = await appendStep(thread.repository, state, stepDraft());
    expect(await findingsOf(thread.repository, head.id)).toEqual([]);
    const faults = await faultsOf(of, (draft) => void (draft.node['react'] = '0000000000000'));
    expect(faults).toContain('trace/session.json: there is no node 0000000000000');
  });

  test('the agent is one, whom the message names', async () => {
    const faults = await faultsOf(of, (draft) => void (draft.node['agent'] = draft.node['prompt']!));
    expect(faults).toContainEqual(expect.stringMatching(/^the node \w{13} is content, not agent$/));
    expect(
      await faultsOf(of, (draft) => void (draft.message = draft.message.replace('Agent: robot', 'Agent: x'))),
    ).toEqual(["its message says 'Uwf-Agent: x' where its nodes say 'Uwf-Agent: robot'"]);
  });

  test('the place among the commits before it is right', async () => {
    const faults = await faultsOf(of, (draft) => void (draft.node['start'] = draft.node['prompt']!));
    expect(faults).toContainEqual(expect.stringMatching(/: start is \w{13}, by the commits before it has to be /));
    const more = await faultsOf(of, (draft, { code }) => void draft.parents.push(code));
    expect(more).toEqual([expect.stringMatching(/^nothing accounts for its parent /)]);
  });

  test('the rules gave the turn', async () => {
    const kind = of === 'step' ? 'step' : 'suspend';
    expect(await faultsOf(of, (draft) => void (draft.node['rule'] = 2))).toEqual([
      expect.stringMatching(new RegExp(`^${kind}.json: it says that rule 3 gave the turn to `)),
    ]);
  });

  test('the links lead to the right nodes', async () => {
    const faults = await faultsOf(of, (draft) => void (draft.node['prompt'] = draft.node['agent']!));
    expect(faults).toContainEqual(expect.stringContaining('the link at /prompt has to lead to content, but'));
  });

  test('the commit has no headers that uwf does not write', async () => {
    const thread = await growThread();
    const data = Buffer.from(thread.repository.objectMap.get(thread[of])!.data).toString();
    const encoded = store(thread.repository, 'commit', data.replace('\n\n', '\nencoding x\n\n'));
    expect(await findingsOf(thread.repository, encoded)).toEqual([
      expect.stringMatching(/^it is not as uwf writes a commit: /),
    ]);
  });
});

describe('of a start', () => {
  test('the caller is the first parent, and the only one', async () => {
    expect(await faultsOf('start', () => undefined)).toEqual([]);
    expect(await faultsOf('start', (draft) => void (draft.node['depth'] = 3))).toEqual([
      'start.json: depth is 3, by its caller it has to be 0',
    ]);
    const unaccounted = expect.stringMatching(/^nothing accounts for its parent /);
    const one = await faultsOf('start', (draft, { step }) => void draft.parents.push(step));
    expect(one).toEqual([unaccounted]);
    const two = await faultsOf('start', (draft, { code, suspension }) => void draft.parents.push(code, suspension));
    expect(two).toEqual([unaccounted, unaccounted]);
  });

  test('the base is a parent, and a commit of the code', async () => {
    const { repository, code, step } = await growThread();
    const sound = await startLoop(repository, { base: code });
    expect(await findingsOf(repository, sound.head.id)).toEqual([]);
    const apart = forge(repository, sound.head.id, (draft) => void draft.parents.pop());
    expect(await findingsOf(repository, apart)).toEqual([`start.json: its base ${code} is no parent of it`]);
    const ofThread = await startLoop(repository, { base: step });
    expect(await findingsOf(repository, ofThread.head.id)).toContain(
      `start.json: its base ${step} is a commit of a thread`,
    );
  });
});
