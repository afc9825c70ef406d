import { beforeAll, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { encodeNode } from '../../src/cas/node.ts';
import { ObjectBatch, publish } from '../../src/git/stores/publish.ts';
import { writeNodeTree } from '../../src/cas/node-tree.ts';
import type { JsonObject } from '../../src/json.ts';
import { META_SCHEMA } from '../../src/cas/node-hash.ts';
import { activeRef } from '../../src/thread/thread-id.ts';
import { readThreadCommit } from '../../src/thread/thread-commit.ts';
import { Verification } from '../../src/verify/verification.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop } from './thread-fixture.ts';

beforeAll(prepareHashing);

/** Makes a thread whose newest commit has a node of a type that is not known. */
async function withUnknownStep(payload: JsonObject) {
  const repository = createMapRepository();
  const state = await startLoop(repository);
  const schema = encodeNode(META_SCHEMA, { title: 'thread-step', description: 'of another version' });
  const batch = new ObjectBatch();
  const author = { name: 'a', email: 'a@b', atMs: 1_795_262_400_000 };
  const tree = writeNodeTree(batch, [
    { path: 'step.json', node: encodeNode(schema.hash, payload) },
    { path: `types/${schema.hash}.json`, node: schema },
  ]);
  const value = batch.addCommit({ tree, parents: [state.head.id], author, committer: author, message: 's\n' });
  await publish(repository, batch, [{ name: activeRef(state.id), expected: state.head.id, value }]);
  const { findings } = await new Verification(repository).verify(value);
  return { type: schema.hash, id: value, read: readThreadCommit(repository, value), findings };
}

test('a node of a type that is not known is said to be newer, not corrupt', async () => {
  const { type, id, read, findings } = await withUnknownStep({ number: 1, totals: {} });
  const message = `step.json of commit ${id} has the type ${type}, which this version of uwf does not know`;
  await expect(read).rejects.toMatchObject({ code: 'newer-format', message });
  expect(findings).toEqual([{ commit: id, path: 'step.json', what: message }]);
});

test('a node without what each version writes is said to be of an early build', async () => {
  const { id, read, findings } = await withUnknownStep({ number: 1 });
  const message = `the thread of commit ${id} was written by an early build, before format 1; this uwf reads format 1 alone`;
  await expect(read).rejects.toMatchObject({ code: 'before-format', message });
  expect(findings).toEqual([{ commit: id, path: 'step.json', what: message }]);
});
