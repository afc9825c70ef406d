import { beforeEach, describe, expect, test } from 'vitest';
import { parseNodeHash } from '../../src/cas/hash.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import { putSchema } from '../../src/schema/put.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread } from '../../src/thread/thread-verbs.ts';
import { readScratch, threadCas, type ThreadCas } from '../../src/thread/thread-cas.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { scratchRef } from '../../src/thread/thread-id.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

const unknown = parseNodeHash('0000000000000');

let repository: MapRepository;
let thread: ThreadState;
let cas: ThreadCas;

beforeEach(async () => {
  repository = createMapRepository();
  thread = await startLoop(repository);
  cas = threadCas(repository, thread.id);
});

describe('the store of a thread', () => {
  test('takes texts, and finds them whether they wait or a step took them in', async () => {
    const note = await cas.put('A note.');
    const stored = { hash: note, type: builtIn.content, payload: { text: 'A note.' } };
    expect(await cas.get(note)).toMatchObject(stored);
    await appendStep(repository, thread, stepDraft());
    expect(await repository.refs.read(scratchRef(thread.id))).toBeUndefined();
    expect(await cas.get(note)).toMatchObject(stored);
    expect(await cas.get(thread.start.hash)).toMatchObject({ type: builtIn['thread-start'] });
  });

  test('reads a commit once for many nodes, and what was put or moved since is found', async () => {
    const old = await cas.put('Old.');
    const state = await appendStep(repository, thread, stepDraft());
    // More than the indexes that are kept for all readers.
    const texts = Array.from({ length: 5000 }, (_, at) => ({ type: builtIn.content, payload: { text: `${at}` } }));
    await cas.putAll(texts);
    const spied = watched(repository);
    const watching = threadCas(spied.repository, thread.id);
    const { oid } = await watching.get(old);
    spied.read.length = 0;
    await watching.get(old);
    expect(spied.read).toEqual([oid]);
    const late = await watching.put('Late.');
    expect(await watching.find(late)).toBeDefined();
    await appendStep(repository, state, stepDraft());
    expect(await watching.find(late)).toBeDefined();
  });

  test('does not have what lies elsewhere', async () => {
    const other = await startLoop(repository);
    const note = await threadCas(repository, other.id).put('A note.');
    expect(await cas.find(note)).toBeUndefined();
    await expect(cas.get(note)).rejects.toMatchObject({ code: 'node-not-found', hash: note });
    await expect(cas.get('x')).rejects.toMatchObject({ code: 'invalid-node-hash' });
  });

  test('takes nodes of any type, which may link to each other and to what the thread has', async () => {
    const type = await putSchema(repository, {
      type: 'object',
      properties: { of: { type: 'string', format: 'cas_ref' } },
      required: ['of'],
    });
    const first = await cas.putTyped(type, { of: thread.start.node.prompt });
    expect((await readScratch(repository, thread.id)).files.map(({ path }) => path.split('/')[0])).not.toContain(
      'linked',
    );
    const hashes = await cas.putAll([
      { type, payload: { of: first } },
      { type: builtIn.content, payload: { text: 'Two.' } },
    ]);
    expect(await Promise.all(hashes.map(async (hash) => (await cas.get(hash)).payload))).toEqual([
      { of: first },
      { text: 'Two.' },
    ]);
    await expect(cas.putTyped(type, {})).rejects.toMatchObject({ code: 'schema-violation' });
    await expect(cas.putTyped(type, { of: unknown })).rejects.toMatchObject({ code: 'dangling-link' });
  });

  test('pins a git object, which it writes if it is given', async () => {
    const data = Buffer.from('a file\n');
    const oid = hashObject({ type: 'blob', data });
    const artifact = { kind: 'blob', oid, title: 'a file' } as const;
    await expect(cas.pin(artifact)).rejects.toMatchObject({ code: 'object-missing' });
    const pin = await cas.pin(artifact, data);
    expect(await cas.get(pin)).toMatchObject({ type: builtIn.artifact, payload: artifact });
    expect(repository.objectMap.get(oid)?.data).toEqual(data);
    await expect(cas.pin({ ...artifact, kind: 'tree' })).rejects.toMatchObject({ code: 'wrong-pin' });
  });

  test('takes nothing once the thread is over', async () => {
    await endThread(repository, thread, { outcome: 'completed', returnCode: 0, summary: 'Done.' });
    await expect(cas.put('late')).rejects.toMatchObject({
      code: 'wrong-thread-state',
      message: `thread ${thread.id} is over: no step will take in what is put now`,
      hint: 'put it under a running thread, or without --thread',
      status: 'over',
    });
  });
});

describe('what was put under a thread', () => {
  test('is listed: first what steps took in, oldest first, then what waits, and nothing beside it', async () => {
    expect(await cas.list()).toEqual([]);
    const type = await putSchema(repository, { type: 'object' });
    const first = await cas.putTyped(type, { at: 1 });
    const one = await appendStep(repository, thread, stepDraft());
    const second = await cas.put('Two.');
    const two = await appendStep(repository, one, stepDraft());
    const third = await cas.putTyped(type, { at: 3 });
    expect(await cas.list()).toEqual([
      { hash: first, step: one.head.hash },
      { hash: second, step: two.head.hash },
      { hash: third, step: undefined },
    ]);
  });

  test('can be taken back while it waits, by itself', async () => {
    const [first, second] = [await cas.put('One.'), await cas.put('Two.')];
    expect(await cas.delete(first)).toBe(true);
    expect(await cas.list()).toEqual([{ hash: second, step: undefined }]);
  });

  test('is not taken back where there is no such thing, or it was not put', async () => {
    await cas.put('One.');
    await appendStep(repository, thread, stepDraft());
    for (const hash of [unknown, thread.start.node.prompt]) expect(await cas.delete(hash)).toBe(false);
    const spied = watched(repository);
    expect(await threadCas(spied.repository, thread.id).delete('x')).toBe(false);
    expect(spied.read).toEqual([]);
  });

  test('stays once a step has taken it in', async () => {
    const [first, second] = [await cas.put('One.'), await cas.put('Two.')];
    const { head } = await appendStep(repository, thread, stepDraft());
    for (const hash of [first, second]) {
      await expect(cas.delete(hash)).rejects.toMatchObject({
        code: 'node-in-use',
        kind: 'conflict',
        message: `node ${hash} belongs to step ${head.hash} and cannot be removed`,
        hint: "what a step has taken in lives as long as its thread; 'uwf thread rm' removes that",
        hash,
        step: head.hash,
      });
    }
  });

  test('can be taken back again where it was put once more after a step took it in', async () => {
    const note = await cas.put('One.');
    const { head } = await appendStep(repository, thread, stepDraft());
    await cas.put('One.');
    expect(await cas.delete(note)).toBe(true);
    expect(await cas.list()).toEqual([{ hash: note, step: head.hash }]);
  });
});
