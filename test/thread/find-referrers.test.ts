import { expect, test } from 'vitest';
import { parseNodeHash } from '../../src/cas/hash.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { findReferrers, threadCas } from '../../src/thread/thread-cas.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

async function threeSteps() {
  const repository = createMapRepository();
  const start = await startLoop(repository);
  const cas = threadCas(repository, start.id);
  const note = await cas.put('A note.');
  const one = await appendStep(repository, start, stepDraft({ meta: { $status: 'done', link: note } }));
  const two = await appendStep(repository, one, stepDraft({ text: 'Two.' }));
  const three = await appendStep(repository, two, stepDraft({ text: 'Three.', meta: { $status: 'done', link: note } }));
  return { repository, cas, note, start, one, two, three };
}

test('the referrers of a node are the nodes that link to it, each with the step it lies in, oldest first', async () => {
  const { repository, cas, note, start, one, two, three } = await threeSteps();
  const [first, second, third] = [one.head.hash, two.head.hash, three.head.hash];
  const found = await findReferrers(repository, cas, three.head.id, [note, second, third, start.start.node.prompt]);
  const text = one.head.kind === 'step' ? one.head.node.content : undefined;
  expect(found.get(note)).toEqual(
    expect.arrayContaining([
      { hash: text, in: first },
      { hash: first, in: first },
      { hash: third, in: third },
    ]),
  );
  expect(found.get(note)?.at(-1)).toEqual({ hash: third, in: third });
  found.delete(note);
  expect(found).toEqual(
    new Map([
      [second, [{ hash: third, in: third }]],
      [start.start.node.prompt, [{ hash: start.start.hash, in: start.start.hash }]],
    ]),
  );
});

test('the referrers of a node are those up to the head that is given', async () => {
  const { repository, cas, one, two } = await threeSteps();
  const found = await findReferrers(repository, cas, two.head.id, [one.head.hash]);
  expect(found).toEqual(new Map([[one.head.hash, [{ hash: two.head.hash, in: two.head.hash }]]]));
  expect(await findReferrers(repository, cas, two.head.id, [parseNodeHash('0000000000000')])).toEqual(new Map());
});

test('nodes of the definition of the workflow are among the referrers', async () => {
  const { repository, cas, start, three } = await threeSteps();
  const { workflow } = start.start.node;
  const hashAt = (path: string) => start.start.index.find((entry) => entry.path === path)!.hash;
  const [role, schema] = [hashAt('workflow/roles/writer.json'), hashAt('workflow/schemas/writer.json')];
  const found = await findReferrers(repository, cas, three.head.id, [role, schema]);
  const inStart = { in: start.start.hash };
  expect(found.get(role)).toContainEqual({ hash: workflow, ...inStart });
  expect(found.get(schema)).toContainEqual({ hash: role, ...inStart });
});

test('to find referrers, no schema of a built-in type is read as a node of a commit', async () => {
  const { repository, cas, note, start, three } = await threeSteps();
  const spied = watched(repository);
  await findReferrers(spied.repository, cas, three.head.id, [note]);
  const read = start.start.index.filter(({ oid }) => spied.read.includes(oid)).map(({ path }) => path);
  expect(read.filter((path) => path.startsWith('types/'))).toEqual([]);
  expect(read).toContain('start.json');
});
