import { describe, expect, test } from 'vitest';
import { ObjectBatch } from '../../../src/git/stores/object-batch.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import {
  addRecord,
  fitsInRecord,
  joinRecords,
  readRecord,
  redactedRef,
} from '../../../src/thread/secrets/redaction-record.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { store, storeTree } from '../../verify/forge-commit.ts';

const thread = parseThreadId('01KTWEWZ760000000000000000');
const other = parseThreadId('01KTWEWZ760000000000000001');
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40) as ObjectId) as [
  ObjectId,
  ObjectId,
  ObjectId,
  ObjectId,
];
const repository = createMapRepository();
const write = async (pairs: [ObjectId, ObjectId][], parents: ObjectId[] = []): Promise<ObjectId> => {
  const batch = new ObjectBatch();
  const id = addRecord(batch, { thread, commits: new Map(pairs) }, parents);
  await repository.objects.write(batch.objects);
  return id;
};

describe('a record of a redaction', () => {
  test('is read as it was written, whatever the order of its lines and parents', async () => {
    const id = await write([
      [c, d],
      [a, b],
    ]);
    expect(await readRecord(repository.objects, id)).toEqual({
      thread,
      commits: new Map([
        [a, b],
        [c, d],
      ]),
    });
    expect(
      await write([
        [a, b],
        [c, d],
      ]),
    ).toBe(id);
    expect(await write([[a, b]], [a, b])).toBe(await write([[a, b]], [b, a]));
    expect(redactedRef(thread)).toBe(`refs/uwf/redacted/${thread}`);
  });

  const who = 'uwf <uwf@localhost> 0 +0000';
  const commitOf = (text: string, name = 'redacted', head = ''): ObjectId => {
    const tree = storeTree(repository, [['100644', name, store(repository, 'blob', text)]]);
    return store(repository, 'commit', `tree ${tree}\n${head}author ${who}\ncommitter ${who}\n\nredacted\n`);
  };

  test.each([
    ['another file', commitOf(`${thread}\n`, 'other'), "it has no file 'redacted'"],
    ['no thread', commitOf('no thread\n'), 'it names no thread'],
    ['no pair', commitOf(`${thread}\n${a}\n`), 'a line is no pair of commits'],
    ['no second commit', commitOf(`${thread}\n${a} x\n`), 'a line is no pair of commits'],
    ['no first commit', commitOf(`${thread}\nx ${a}\n`), 'a line is no pair of commits'],
    ['three commits', commitOf(`${thread}\n${a} ${b} ${c}\n`), 'a line is no pair of commits'],
    ['lines in another order', commitOf(`${thread}\n${c} ${d}\n${a} ${b}\n`), 'uwf writes it otherwise'],
    ['no end of its last line', commitOf(`${thread}\n${a} ${b}`), 'uwf writes it otherwise'],
  ])('has not %s', async (_, id, reason) => {
    const read = readRecord(repository.objects, id);
    await expect(read).rejects.toMatchObject({ code: 'invalid-redaction-record' });
    await expect(read).rejects.toThrow(`commit ${id} is no record of a redaction: ${reason}`);
    await expect(read).rejects.toMatchObject({ code: 'invalid-redaction-record', kind: 'data' });
  });

  test('may be any of uwf, as the same bytes', async () => {
    expect(await readRecord(repository.objects, commitOf(`${thread}\n${a} ${b}\n`))).toMatchObject({ thread });
  });
});

test('a record of too many commits is known not to be readable before it is written', async () => {
  const commits = new Map<ObjectId, ObjectId>();
  // 27 bytes for the thread and 82 for each commit are just less than 16 MiB.
  for (let count = 0; count < 204_599; count += 1) commits.set(`${count}`.padStart(40, '0') as ObjectId, a);
  expect(fitsInRecord({ thread, commits })).toBe(true);
  expect(await readRecord(repository.objects, await write([...commits]))).toMatchObject({ thread });
  commits.set(b, a);
  expect(fitsInRecord({ thread, commits })).toBe(false);
});

test('two records become one that leads from what was first to what is last', () => {
  const earlier = {
    thread,
    commits: new Map([
      [a, b],
      [c, c],
    ]),
  };
  const later = { thread: other, commits: new Map([[b, d]]) };
  expect(joinRecords(earlier, later)).toEqual({
    thread: other,
    commits: new Map([
      [a, d],
      [c, c],
      [b, d],
    ]),
  });
});
