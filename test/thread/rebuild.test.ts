import { describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { writeNodeTree } from '../../src/cas/node-tree.ts';
import { type ErrorKind, UwfError } from '../../src/errors.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { exportThread, Rebuild, RefusedImport } from '../../src/thread/export-thread.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { threadCas } from '../../src/thread/thread-cas.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

await prepareHashing();
const NOTE = encodeNode(builtIn.content, { text: 'x' }).hash;

const thread = '01KTWEWZ76000000000000000A';
const who = { name: 'U', email: 'u@x', atMs: 1_795_262_400_000 };
const absent = 'a'.repeat(40);

/** A commit without files, and its id. */
function emptyCommit() {
  const batch = new ObjectBatch();
  const made = { parents: [], author: who, committer: who, message: 'x\n' };
  const commit = batch.addCommit({ tree: writeNodeTree(batch, []), ...made });
  return { commit, ...made, files: {} };
}

const open = (objects: Partial<ReturnType<typeof createMapRepository>['objects']> = {}): Rebuild =>
  new Rebuild({ ...createMapRepository().objects, ...objects });

describe('the rows of a thread that is made again', () => {
  test('tell which thread it is', async () => {
    const rebuild = open();
    expect(rebuild).toMatchObject({ thread: undefined, head: undefined });
    await rebuild.add(JSON.stringify({ role: '__start__', meta: { thread } }));
    await rebuild.add(JSON.stringify({ role: 'writer', meta: { thread: 'another' } }));
    expect(rebuild).toMatchObject({ thread, head: undefined });
  });

  test.each([
    ['a node', () => ({ ...encodeNode(builtIn.content, { text: 'x' }) })],
    ['a commit', () => emptyCommit()],
  ])('come before %s', async (_, lineOf) => {
    const rebuild = open();
    const { hash: node, blob: _blob, ...line } = { hash: undefined, blob: undefined, ...lineOf() };
    await rebuild.add(JSON.stringify({ ...line, ...(node !== undefined && { node }) }));
    await expect(rebuild.add('{"role":"writer"}')).rejects.toThrow('(line 2): a row has to come before the nodes');
  });
});

test('a commit may stand on one that came before it', async () => {
  const repository = createMapRepository();
  const one = await appendStep(repository, await startLoop(repository), stepDraft());
  const rebuild = open();
  const before: unknown[] = [];
  for await (const line of exportThread(repository, { id: one.id, head: one.head.id }, { withNodes: true })) {
    await rebuild.add(line);
    before.push(rebuild.head);
  }
  expect([...new Set(before)]).toEqual([undefined, one.start.id, one.head.id]);
});

test('what an artifact pins has to be here', async () => {
  const repository = createMapRepository();
  const start = await startLoop(repository);
  const data = Buffer.from('a file\n');
  const oid = hashObject({ type: 'blob', data });
  await threadCas(repository, start.id).pin({ kind: 'blob', oid, title: 'a file' }, data);
  const one = await appendStep(repository, start, stepDraft());
  const lines: string[] = [];
  for await (const line of exportThread(repository, { id: one.id, head: one.head.id }, { withNodes: true })) {
    lines.push(line);
  }
  const [here, elsewhere] = [open({ has: async (id) => id === oid }), open()];
  for (const line of lines.slice(0, -1)) for (const rebuild of [here, elsewhere]) await rebuild.add(line);
  await here.add(lines.at(-1)!);
  expect(here.head).toBe(one.head.id);
  await expect(elsewhere.add(lines.at(-1)!)).rejects.toThrow(`it stands on ${oid}`);
});

test('the head is the last commit so far', async () => {
  const rebuild = open();
  const { commit, ...rest } = emptyCommit();
  await rebuild.add(JSON.stringify({ commit, ...rest }));
  expect(rebuild.head).toBe(commit);
  expect(rebuild.batch.find(commit)).toBeDefined();
});

const says = 'author and committer need a name, an email and a time';
const needs = 'a commit needs parents, author, committer, message and files';

test.each<[string, unknown, string]>([
  ['a thread that is no text', { role: '__start__', meta: { thread: [thread] } }, 'it does not say which thread it is'],
  ['no object', [], 'it is no JSON object'],
  ['no members', 5, 'it is no JSON object'],
  [
    'a node of another hash',
    { node: '0000000000000', type: builtIn.content, payload: { text: 'x' } },
    `it says it is node 0000000000000, and is ${NOTE}`,
  ],
  ['a node without a payload', { node: 'x', type: '0000000000000' }, 'a node needs a type and a payload'],
  ['a node of no type', { node: 'x', type: 'y', payload: 1 }, 'a node needs a type and a payload'],
  ['a commit without a message', { ...emptyCommit(), message: undefined }, needs],
  ['a commit without files', { ...emptyCommit(), files: undefined }, needs],
  ['a commit without parents', { ...emptyCommit(), parents: undefined }, needs],
  ['an author without a name', { ...emptyCommit(), author: { ...who, name: undefined } }, says],
  ['an author without an email', { ...emptyCommit(), author: { ...who, email: 5 } }, says],
  ['a committer without a time', { ...emptyCommit(), committer: { ...who, atMs: 'now' } }, says],
  ['a parent that is a number', { ...emptyCommit(), parents: [5] }, "'5' is no object id"],
  ['a parent that is null', { ...emptyCommit(), parents: [null] }, "'null' is no object id"],
  ['a parent that is a word', { ...emptyCommit(), parents: ['main'] }, "'main' is no object id"],
  ['a parent that is a list', { ...emptyCommit(), parents: [[absent]] }, `'["${absent}"]' is no object id`],
  [
    'a parent that is elsewhere',
    { ...emptyCommit(), parents: [absent] },
    `it stands on ${absent}, which neither comes before it nor is in this repository`,
  ],
  [
    'a file of no node',
    { ...emptyCommit(), files: { 'a.md': 'no hash' } },
    "'a.md' is node no hash, which does not come before it",
  ],
  [
    'a commit of another id',
    { ...emptyCommit(), commit: absent },
    `it says it is commit ${absent}, and is ${emptyCommit().commit}`,
  ],
  [
    'a commit whose id is no text, of which the beginning is told',
    { ...emptyCommit(), commit: ['x'.repeat(100)] },
    `it says it is commit ["${'x'.repeat(78)}, and is ${emptyCommit().commit}`,
  ],
  ['nothing that it knows', { a: 1 }, 'it is neither a row nor a node nor a commit'],
])('a line is refused that has %s', async (_, line, reason) => {
  const adding = open().add(JSON.stringify(line));
  await expect(adding).rejects.toBeInstanceOf(RefusedImport);
  await expect(adding).rejects.toMatchObject({
    code: 'import-refused',
    line: 1,
    reason,
    message: `the file cannot be imported (line 1): ${reason}`,
  });
});

test('a thread of the other object format is named as such, before what it stands on', async () => {
  const line = { ...emptyCommit(), commit: 'a'.repeat(64), parents: ['b'.repeat(64)] };
  await expect(open().add(JSON.stringify(line))).rejects.toMatchObject({ code: 'object-formats-differ' });
});

test('a bundle is told from an export', async () => {
  await expect(open().add('# v2 git bundle')).rejects.toMatchObject({ reason: /'uwf fetch <bundle>' reads/ });
});

describe('an error while a line is added', () => {
  const failing = (error: Error): Promise<void> =>
    open({ has: () => Promise.reject(error) }).add(JSON.stringify({ ...emptyCommit(), parents: [absent] }));

  test('is a refusal where it is about the line', async () => {
    const kinds: ErrorKind[] = ['data', 'usage'];
    for (const kind of kinds) {
      const error = new UwfError('it is wrong', { code: 'wrong', kind });
      await expect(failing(error)).rejects.toMatchObject({
        code: 'import-refused',
        reason: 'it is wrong',
        cause: error,
      });
    }
    await expect(open().add('{')).rejects.toMatchObject({ code: 'import-refused', reason: /JSON/ });
  });

  test('is a refusal where nobody expects it', async () => {
    const reason = 'it cannot be checked: RangeError: too deep';
    await expect(failing(new RangeError('too deep'))).rejects.toMatchObject({ code: 'import-refused', reason });
  });

  test.each([
    new UwfError('the disk is full', { code: 'disk-full', kind: 'environment' }),
    Object.assign(new Error('EIO'), { syscall: 'read' }),
  ])('is itself where the machine failed: %s', async (error) => {
    await expect(failing(error)).rejects.toBe(error);
  });
});

test('a commit with very many files is made again in seconds', { timeout: 60_000 }, async () => {
  const rebuild = open();
  await rebuild.add(JSON.stringify({ node: NOTE, type: builtIn.content, payload: { text: 'x' } }));
  const files = Object.fromEntries(Array.from({ length: 120_000 }, (_, at) => [`${at}`, NOTE]));
  const { commit: _, ...others } = emptyCommit();
  const line = JSON.stringify({ commit: absent, ...others, files });
  await expect(rebuild.add(line)).rejects.toThrow(`it says it is commit ${absent}`);
});
