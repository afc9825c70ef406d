import { describe, expect, test } from 'vitest';
import { parseNodeHash } from '../../src/cas/hash.ts';
import { reindex } from '../../src/cas/lookup.ts';
import { putSchema } from '../../src/schema/put.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread } from '../../src/thread/thread-verbs.ts';
import { archiveThreads } from '../../src/thread/archive-threads.ts';
import { resolveLinks, threadCas } from '../../src/thread/thread-cas.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { removeThread } from '../../src/thread/remove-thread.ts';
import { activeRef } from '../../src/thread/thread-id.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

const nothing = { waiting: [], nodes: [], commits: [], missing: [] };
const unknown = parseNodeHash('0000000000000');

/** A thread of one step, and another that it knows nothing of. */
async function twoThreads() {
  const repository = createMapRepository();
  const thread = await appendStep(repository, await startLoop(repository), stepDraft());
  const other = await startLoop(repository);
  return { repository, thread, other };
}

describe('a link', () => {
  test('to what the thread has needs nothing', async () => {
    const { repository, thread } = await twoThreads();
    const own = [thread.start.hash, thread.head.hash, thread.start.node.prompt];
    expect(await resolveLinks(repository, thread, own)).toEqual(nothing);
  });

  test('to what was put under the thread waits to be taken in, once', async () => {
    const { repository, thread } = await twoThreads();
    const note = await threadCas(repository, thread.id).put('A note.');
    expect(await resolveLinks(repository, thread, [note, note])).toEqual({ ...nothing, waiting: [note] });
  });

  test('to what was put elsewhere copies it with all that it links to, and with their schemas', async () => {
    const { repository, thread, other } = await twoThreads();
    const cas = threadCas(repository, other.id);
    const type = await putSchema(repository, {
      type: 'object',
      properties: { of: { type: 'string', format: 'cas_ref' } },
    });
    const note = await cas.put('A note.');
    const first = await cas.putTyped(type, { of: note });
    const second = await cas.putTyped(type, { of: first });
    const { nodes, ...rest } = await resolveLinks(repository, thread, [second]);
    expect(rest).toEqual({ waiting: [], commits: [], missing: [] });
    expect(nodes.map(({ hash }) => hash).toSorted()).toEqual([note, first, second, type].toSorted());
    expect(nodes.find(({ hash }) => hash === second)).toMatchObject({ type, payload: { of: first } });
  });

  test('to a start, step or end of another thread stands on its commit', async () => {
    const { repository, thread, other } = await twoThreads();
    const one = await appendStep(repository, other, stepDraft({ text: 'One.' }));
    const two = await appendStep(repository, one, stepDraft({ text: 'Two.' }));
    const end = await endThread(repository, two, { outcome: 'completed', returnCode: 0, summary: 'Two.' });
    for (const { hash, id } of [end.start, one.head, two.head, end.head]) {
      expect(await resolveLinks(repository, thread, [hash])).toEqual({ ...nothing, commits: [id] });
    }
  });

  test('to what was archived stands on its commit, as before, and a rebuilt lookup changes nothing', async () => {
    const { repository, thread, other } = await twoThreads();
    const step = await appendStep(repository, other, stepDraft({ text: 'One.' }));
    const end = await endThread(repository, step, { outcome: 'completed', returnCode: 0, summary: 'One.' });
    await archiveThreads(repository, [await getThread(repository, other.id)]);
    for (const look of [() => Promise.resolve(), () => reindex(repository)]) {
      await look();
      for (const { hash, id } of [end.start, step.head, end.head]) {
        expect(await resolveLinks(repository, thread, [hash])).toEqual({ ...nothing, commits: [id] });
      }
    }
  });

  test.each(['took it in', 'links to it'])(
    'to a thread without a ref stands on its commits if a thread %s',
    async (how) => {
      const { repository, thread, other } = await twoThreads();
      const step = await appendStep(repository, other, stepDraft({ text: 'Dug.' }));
      const end = await endThread(repository, step, { outcome: 'completed', returnCode: 0, summary: 'Dug.' });
      const child = { hash: end.head.hash, commit: end.head.id };
      const draft =
        how === 'links to it'
          ? { linked: { waiting: [], nodes: [], missing: [], commits: [child.commit] } }
          : { childThreads: [child] };
      await appendStep(repository, await startLoop(repository), stepDraft(draft));
      await removeThread(repository, await getThread(repository, other.id));
      for (const { hash, id } of [end.start, step.head, end.head]) {
        expect(await resolveLinks(repository, thread, [hash])).toEqual({ ...nothing, commits: [id] });
      }
    },
  );

  test('to a hash of nothing is missing, once', async () => {
    const { repository, thread } = await twoThreads();
    expect(await resolveLinks(repository, thread, [unknown, unknown])).toEqual({ ...nothing, missing: [unknown] });
  });

  test('to a step of a thread that was removed is missing, though its node is still there', async () => {
    const { repository, thread, other } = await twoThreads();
    const { head } = await appendStep(repository, other, stepDraft({ text: 'Other.' }));
    const found = await resolveLinks(repository, thread, [head.hash]);
    expect(found.commits).toEqual([head.id]);
    await repository.refs.update([{ name: activeRef(other.id), expected: head.id, value: null }]);
    expect(await resolveLinks(repository, thread, [head.hash])).toEqual({ ...nothing, missing: [head.hash] });
  });
});
