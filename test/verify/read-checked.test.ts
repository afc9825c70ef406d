import { beforeAll, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { type CheckedCommit, NodeCache, readChecked } from '../../src/verify/read-checked.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from '../thread/thread-fixture.ts';
import { collectFaults } from './commit/plain-commits.ts';
import { addNode, type Draft, forge, store } from './forge-commit.ts';

beforeAll(prepareHashing);

let repository: MapRepository;
let head: ObjectId;
beforeAll(async () => {
  repository = createMapRepository();
  head = (await appendStep(repository, await startLoop(repository), stepDraft())).head.id;
});

async function check(id: ObjectId): Promise<{ checked: CheckedCommit | undefined; faults: string[] }> {
  const { faults, report } = collectFaults();
  return { checked: await readChecked(new NodeCache(repository), id, report), faults };
}

const forged = (change: (draft: Draft) => void): ObjectId => forge(repository, head, change);

/** The commit with its text changed. */
function rewritten(change: (text: string) => string): ObjectId {
  return store(repository, 'commit', change(Buffer.from(repository.objectMap.get(head)!.data).toString()));
}

test('a commit of a thread has one node that says what it is', async () => {
  const { checked, faults } = await check(head);
  expect(faults).toEqual([]);
  expect(checked).toMatchObject({ commit: { id: head, kind: 'step' }, fault: undefined });
  const says = 'its tree has to have one of start, step, suspend, resume and end.json; it has';
  const none = forged((draft) => {
    draft.files.delete('step.json');
    draft.listed.delete('step.json');
  });
  expect(await check(none)).toEqual({ checked: undefined, faults: [`${says} none`] });
  const three = forged((draft) => {
    for (const kind of ['end', 'start']) addNode(repository, draft, `${kind}.json`, builtIn.content, { text: 'x' });
  });
  expect(await check(three)).toEqual({ checked: undefined, faults: [`${says} 3`] });
});

test('its node is valid', async () => {
  const { checked, faults } = await check(forged((draft) => void (draft.node['number'] = 0)));
  expect(checked).toBeUndefined();
  expect(faults).toEqual(['step.json: thread-step does not match its schema: /number must be 1 or more']);
});

test('an object that is no commit, or none that can be read, is one fault', async () => {
  expect(await check(store(repository, 'blob', 'x'))).toEqual({
    checked: undefined,
    faults: [expect.stringContaining('it is a blob, not a commit')],
  });
  const { checked, faults } = await check(store(repository, 'commit', 'tree x\n\n'));
  expect(checked).toBeUndefined();
  expect(faults).toHaveLength(1);
});

const signature = '-----BEGIN PGP SIGNATURE-----\n \n iQ==\n a\n -----END PGP SIGNATURE-----\n';

test.each<[string, (text: string) => string]>([
  ['a signature', (text) => text.replace('\n\n', `\ngpgsig ${signature}\n`)],
  ['a signature for SHA-256', (text) => text.replace('\n\n', `\ngpgsig-sha256 ${signature}\n`)],
  ['both', (text) => text.replace('\n\n', `\ngpgsig ${signature}gpgsig-sha256 ${signature}\n`)],
  ['an author of that name', (text) => text.replace('author writer', 'author gpgsig')],
  ['a message that looks like one', (text) => text.replace('\n\n', '\n\ngpgsig x\n')],
  ['letters of other languages', (text) => text.replace('author writer', 'author Jürgen 李')],
])('a commit may have %s', async (_, change) => {
  const { checked, faults } = await check(rewritten(change));
  expect([checked?.fault, ...faults]).toEqual([undefined]);
});

test.each<[string, (text: string) => string]>([
  ['another header', (text) => text.replace('\n\n', '\nencoding x\n\n')],
  ['a header of a name that begins the same', (text) => text.replace('\n\n', '\ngpgsigs x\n\n')],
  ['another time zone', (text) => text.replace('+0000', '+0100')],
  ['an empty name', (text) => text.replace('author writer ', 'author ')],
])('a commit may not have %s', async (_, change) => {
  const { checked } = await check(rewritten(change));
  expect(checked?.fault).toMatch(/^it is not as uwf writes a commit: /);
});
