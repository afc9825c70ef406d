import { expect, test } from 'vitest';
import { putSchema } from '../../src/schema/put.ts';
import { readScratch, scratchNodes, threadCas } from '../../src/thread/thread-cas.ts';
import { scratchRef } from '../../src/thread/thread-id.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop } from './thread-fixture.ts';

test('a thread under which nothing was put has no scratch', async () => {
  const repository = createMapRepository();
  const { id, head } = await startLoop(repository);
  expect(await readScratch(repository, id)).toEqual({ commit: undefined, files: [] });
  expect(await (await scratchNodes(repository, id)).find(head.hash)).toBeUndefined();
});

test('what was put under a thread is read as files to be written again, with what it needs', async () => {
  const repository = createMapRepository();
  const { id } = await startLoop(repository);
  const cas = threadCas(repository, id);
  const type = await putSchema(repository, { type: 'object', properties: { count: { type: 'integer' } } });
  const note = await cas.put('A note.');
  const counted = await cas.putTyped(type, { count: 3 });
  const { commit, files } = await readScratch(repository, id);
  expect(commit).toBe(await repository.refs.read(scratchRef(id)));
  expect(files.map(({ path, node }) => [path, node.hash])).toEqual(
    expect.arrayContaining([
      [`artifacts/${note}.md`, note],
      [`artifacts/${counted}.json`, counted],
      [`types/${type}.json`, type],
    ]),
  );
  const { node } = files.find(({ path }) => path.endsWith(`${counted}.json`))!;
  expect(node).toMatchObject({ type, payload: { count: 3 } });
  expect(Buffer.from(node.blob).toString()).toContain('"count": 3');
});

test('what was put under a thread is found there, and not under another', async () => {
  const repository = createMapRepository();
  const { id } = await startLoop(repository);
  const other = await startLoop(repository);
  const note = await threadCas(repository, id).put('A note.');
  expect(await (await scratchNodes(repository, id)).find(note)).toMatchObject({ payload: { text: 'A note.' } });
  expect(await (await scratchNodes(repository, other.id)).find(note)).toBeUndefined();
});
