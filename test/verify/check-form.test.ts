import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread, reopenThread } from '../../src/thread/thread-verbs.ts';
import { NodeCache } from '../../src/verify/read-checked.ts';
import { checkForm, type Form } from '../../src/verify/check-form.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { agent, calledBy, startLoop, stepDraft } from '../thread/thread-fixture.ts';
import { collectFaults } from './commit/plain-commits.ts';
import { addNode, type Draft, forge, store } from './forge-commit.ts';

beforeAll(prepareHashing);

async function formOf(repository: MapRepository, id: ObjectId): Promise<{ form: Form | undefined; faults: string[] }> {
  const { faults, report } = collectFaults();
  return { form: await checkForm(new NodeCache(repository), id, report), faults };
}

async function stepOf(draft = stepDraft()): Promise<{ repository: MapRepository; head: ObjectId; before: ObjectId }> {
  const repository = createMapRepository();
  const state = await startLoop(repository);
  const step = await appendStep(repository, state, draft);
  return { repository, head: step.head.id, before: state.head.id };
}

async function faultsOf(change: (draft: Draft, repository: MapRepository) => void): Promise<string[]> {
  const { repository, head } = await stepOf();
  return (
    await formOf(
      repository,
      forge(repository, head, (draft) => change(draft, repository)),
    )
  ).faults;
}

describe('the form of a commit', () => {
  test('is that of what uwf writes: a start, a step with an agent of its own, an end, a thread that was taken up again', async () => {
    const repository = createMapRepository();
    const begun = await startLoop(repository);
    const other = { ...agent, name: 'another' };
    const step = await appendStep(repository, begun, stepDraft({ agent: other }));
    const ended = await endThread(repository, step, { outcome: 'completed', returnCode: 0, summary: 'done' });
    const again = await reopenThread(repository, ended, 'More, please.');
    for (const { head } of [begun, step, ended, again]) expect((await formOf(repository, head.id)).faults).toEqual([]);
    const { form } = await formOf(repository, again.head.id);
    expect(form).toMatchObject({ threads: [step.head.id, ended.head.id], code: [] });
    expect([...form!.nodes.keys()].toSorted()).toEqual(['answer.md', 'resume.json']);
    expect((await formOf(repository, begun.head.id)).form).toMatchObject({ threads: [], code: [] });
  });

  test('knows commits of code by the node that names them', async () => {
    const { repository, head } = await stepOf();
    const who = 'A <a@b> 1795262400 +0000';
    const tree = store(repository, 'tree', '');
    const code = store(repository, 'commit', `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\nx\n`);
    const forged = forge(repository, head, (draft) => {
      draft.node['workspace'] = { tree, commit: code };
      draft.parents.push(code);
    });
    expect((await formOf(repository, forged)).form?.code).toEqual([code]);
    expect(
      await faultsOf((draft, there) => {
        const id = store(there, 'commit', `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\ny\n`);
        store(there, 'tree', '');
        draft.parents.push(id);
      }),
    ).toEqual([expect.stringMatching(/^nothing accounts for its parent [0-9a-f]{40}$/)]);
  });

  test.each<[string, (draft: Draft, repository: MapRepository) => void, RegExp]>([
    [
      'a message of another node',
      (draft) => void (draft.message = 'x\n\nUwf-Node: other\n'),
      /^its message does not name its node$/,
    ],
    ['no parent', (draft) => void (draft.parents = []), /^it has no parent$/],
    ['a parent twice', (draft) => void draft.parents.push(draft.parents[0]!), /^it names a parent twice$/],
    [
      'a file that nothing accounts for',
      (draft, there) => void addNode(there, draft, 'more.md', builtIn.content, { text: 'x' }),
      /^more.md: nothing accounts for a file of this name$/,
    ],
    [
      'another node at a path',
      (draft, there) => void addNode(there, draft, 'output.md', builtIn.content, { text: 'x' }),
      /^output.md: it is node \w{13}, the commit's node says \w{13}$/,
    ],
    [
      'a missing node',
      (draft) => {
        draft.files.delete('prompt.md');
        draft.listed.delete('prompt.md');
      },
      /^prompt.md: it is missing; it has to be node \w{13}$/,
    ],
    [
      'a node that is not what its hash says',
      (draft, there) => void draft.files.set('output.md', { mode: '100644', id: store(there, 'blob', 'x') }),
      /^output.md: what is stored as node \w{13} is something else/,
    ],
    [
      'files that no node names',
      (draft, there) => void draft.files.set('workspace/a', { mode: '100644', id: store(there, 'blob', 'x') }),
      /^workspace\/a: the index does not list it$/,
    ],
    [
      'pins that no artifact names',
      (draft, there) => void draft.files.set('pinned/a', { mode: '100644', id: store(there, 'blob', 'x') }),
      /^pinned\/a: no artifact pins it$/,
    ],
  ])('is not had by %s', async (_, change, fault) => {
    expect((await faultsOf(change))[0]).toMatch(fault);
  });

  test('is not had by a start with a parent that nothing names', async () => {
    const { repository, head, before } = await stepOf();
    const forged = forge(repository, before, (draft) => void (draft.parents = [head]));
    expect((await formOf(repository, forged)).faults).toEqual([`nothing accounts for its parent ${head}`]);
    const two = forge(repository, before, (draft) => void (draft.parents = [head, before]));
    expect((await formOf(repository, two)).faults).toContain(`nothing accounts for its parent ${before}`);
  });

  test('is that of a child, whose start has the commit of its caller as parent', async () => {
    const repository = createMapRepository();
    const caller = await startLoop(repository);
    const child = await startLoop(repository, calledBy(caller));
    expect(await formOf(repository, child.head.id)).toMatchObject({ faults: [], form: { threads: [caller.head.id] } });
    const orphan = forge(repository, child.head.id, (draft) => void (draft.parents = []));
    expect((await formOf(repository, orphan)).faults).toEqual(['it has no parent']);
  });

  test('is not had by a commit with a header that uwf does not write', async () => {
    const { repository, head } = await stepOf();
    const data = Buffer.from(repository.objectMap.get(head)!.data).toString();
    const encoded = store(repository, 'commit', data.replace('\n\n', '\nencoding x\n\n'));
    expect((await formOf(repository, encoded)).faults).toEqual([
      expect.stringMatching(/^it is not as uwf writes a commit: /),
    ]);
  });

  test('is no form at all where there is no commit of a thread', async () => {
    const { repository } = await stepOf();
    const { form, faults } = await formOf(repository, store(repository, 'blob', 'x'));
    expect(form).toBeUndefined();
    expect(faults).toEqual([expect.stringContaining('it is a blob, not a commit')]);
  });
});
