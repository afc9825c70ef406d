import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { relateTips } from '../../src/sync/reconcile-thread.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { createTemporaryRepository, runGit } from '../helpers/temporary-repository.ts';

const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };

/** Each commit stands on an earlier one, or takes the place of one. */
const history = fc.array(fc.record({ on: fc.nat(), isPoke: fc.boolean() }), { minLength: 1, maxLength: 14 });

function write(batch: ObjectBatch, plan: readonly { on: number; isPoke: boolean }[]): ObjectId[] {
  const tree = batch.addTree([]);
  const parentsOf = new Map<ObjectId, ObjectId[]>();
  const commits: ObjectId[] = [];
  const add = (parents: ObjectId[]): void => {
    const message = `commit ${commits.length}`;
    const id = batch.addCommit({ tree, parents, author: who, committer: who, message });
    parentsOf.set(id, parents);
    commits.push(id);
  };
  add([]);
  for (const { on, isPoke } of plan) {
    const chosen = commits[on % commits.length];
    if (chosen === undefined) continue;
    const [before] = parentsOf.get(chosen) ?? [];
    add(isPoke && before !== undefined ? [before, chosen] : [chosen]);
  }
  return commits;
}

test('commits of a thread stand to each other as git says, with steps that were done again', async () => {
  const { dir } = createTemporaryRepository();
  const oracle = (one: ObjectId, other: ObjectId): boolean =>
    runGit(dir, ['rev-list', '--ignore-missing', '--max-count=1', one, '--not', other]) === '';
  const property = fc.asyncProperty(history, fc.nat(), fc.nat(), async (plan, a, b) => {
    const repository = createMapRepository();
    const batch = new ObjectBatch();
    const commits = write(batch, plan);
    await repository.objects.write(batch.objects);
    const objects = [...batch.objects].map(({ type, data }) => ({ type, data }));
    for (const { type, data } of objects) runGit(dir, ['hash-object', '-w', '-t', type, '--stdin'], data);
    const one = commits[a % commits.length] as ObjectId;
    const other = commits[b % commits.length] as ObjectId;
    const { kind } = await relateTips(repository.objects, one, other);
    const expected = one === other ? 'same' : oracle(one, other) ? 'behind' : oracle(other, one) ? 'ahead' : 'diverged';
    expect(kind).toBe(expected);
  });
  await fc.assert(property, { numRuns: 40 });
});

test('what lies before the commit where two threads part is not read', async () => {
  const repository = createMapRepository();
  const batch = new ObjectBatch();
  const tree = batch.addTree([]);
  let head: ObjectId | undefined;
  const add = (message: string, parents: ObjectId[]): ObjectId =>
    batch.addCommit({ tree, parents, author: who, committer: who, message });
  for (let i = 0; i < 1_000; i += 1) head = add(`${i}`, head ? [head] : []);
  const base = head as ObjectId;
  const [one, other] = [add('one', [base]), add('other', [add('between', [base])])];
  await repository.objects.write(batch.objects);
  let reads = 0;
  const objects = { read: async (id: ObjectId) => ((reads += 1), repository.objects.read(id)) };
  expect(await relateTips(objects, one, other)).toEqual({ kind: 'diverged' });
  expect(await relateTips(objects, base, other)).toEqual({ kind: 'behind', by: 2 });
  expect(await relateTips(objects, other, base)).toEqual({ kind: 'ahead', by: 2 });
  expect(reads).toBeLessThan(20);
});
