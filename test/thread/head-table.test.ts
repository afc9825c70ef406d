import { expect, test } from 'vitest';
import { isString } from '../../src/shape.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { forgetInTable, HeadTable, listTableRows } from '../../src/thread/head-table.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { createTemporaryRepository } from '../helpers/temporary-repository.ts';

const head = parseObjectId('1'.repeat(40));
const at = (last: string): { id: ReturnType<typeof parseThreadId>; head: typeof head } => ({
  id: parseThreadId(`01KTWEWZ76000000000000000${last}`),
  head,
});

test('a row that was removed while another process had the table does not come back with what that one adds', async () => {
  const repository = await createTemporaryRepository().open();
  const open = (): HeadTable<string> => new HeadTable(repository, isString);
  const first = open();
  first.set(at('A'), 'a secret');
  first.set(at('B'), 'something');
  first.save();
  const second = open();
  expect(second.get(at('A'))).toBe('a secret');
  forgetInTable(String(repository.stateDir), at('A').id);
  second.set({ ...at('A'), id: parseThreadId('01KTWEWZ76000000000000001A') }, 'another');
  second.set(at('B'), 'something new');
  second.save();
  expect(open().get(at('A'))).toBeUndefined();
  expect(open().get(at('B'))).toBe('something new');
  expect(listTableRows(String(repository.stateDir)).map(({ thread }) => thread)).toEqual(
    expect.arrayContaining(['01KTWEWZ76000000000000001A', at('B').id]),
  );
  expect(listTableRows(String(repository.stateDir))).toHaveLength(2);
});

test('rows of two processes that add at the same time are both kept', async () => {
  const repository = await createTemporaryRepository().open();
  const open = (): HeadTable<string> => new HeadTable(repository, isString);
  const [one, other] = [open(), open()];
  const sameFile = { head, id: parseThreadId('01KTWEWZ76000000000000001A') };
  expect([one.get(at('A')), other.get(at('A'))]).toEqual([undefined, undefined]);
  one.set(at('A'), 'one');
  other.set(sameFile, 'other');
  one.save();
  other.save();
  expect([open().get(at('A')), open().get(sameFile)]).toEqual(['one', 'other']);
  expect(open().get({ ...at('A'), head: parseObjectId('2'.repeat(40)) })).toBeUndefined();
});
