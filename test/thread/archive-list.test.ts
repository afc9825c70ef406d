import { describe, expect, test } from 'vitest';
import { UwfError } from '../../src/errors.ts';
import { type ObjectId, parseObjectId } from '../../src/git/format/object-id.ts';
import { ObjectBatch, publish } from '../../src/git/stores/publish.ts';
import { readCommit } from '../../src/git/stores/read.ts';
import {
  addListCommit,
  type ArchivedThread,
  ArchiveList,
  findListFault,
  formatLines,
  invalidArchive,
  LIST_REF,
  MAX_BYTES,
  parseLines,
  pointerOfArchived,
} from '../../src/thread/archive-list.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { archivedLines, storeList } from './archive/archived-lines.ts';

const [one, two] = archivedLines(2) as [ArchivedThread, ArchivedThread];
const file = parseObjectId('1'.repeat(40));
const noLines = 'a file has no lines, or too many';
const noThread = 'a line is no thread, end and day, or not in order';
const of = (text: string): string => `${one.id} ${one.end} ${text}\n`;

describe('the lines of a file', () => {
  test('are read as they are written, with the place of a thread that is elsewhere', () => {
    const lines = [one, { ...two, place: 'https://example.com/a.git' }];
    const text = `${one.id} ${one.end} 2026-11-21\n${two.id} ${two.end} 2026-11-21 https://example.com/a.git\n`;
    expect(formatLines(lines)).toBe(text);
    expect(parseLines(file, text)).toStrictEqual(lines);
    expect(parseLines(file, formatLines(archivedLines(1000)))).toHaveLength(1000);
  });

  test.each(['2026-01-09', '2026-09-10', '2026-10-20', '2026-12-31'])('have the day %s', (day) => {
    expect(parseLines(file, of(day))).toEqual([{ ...one, endedOn: day }]);
  });

  test.each([
    ['none', '', noLines],
    ['one that is cut off', of('2026-11-21').trimEnd(), noLines],
    ['more than a thousand', formatLines(archivedLines(1001)), noLines],
    ['one that is empty', '\n', noThread],
    ['one with something before the id', `x ${of('2026-11-21')}`, noThread],
    ['one with something after the place', of('2026-11-21 here there'), noThread],
    ['one with an empty place', of('2026-11-21 '), noThread],
    ['one with a place that is too long', of(`2026-11-21 ${'x'.repeat(2001)}`), noThread],
    ['one with a place that has no plain characters', of('2026-11-21 \u00E9'), noThread],
    ['one of no month', of('2026-00-10'), noThread],
    ['one of a month too late', of('2026-13-10'), noThread],
    ['one of no day', of('2026-11-00'), noThread],
    ['one of a day too late', of('2026-11-32'), noThread],
    ['one of another id', `x${of('2026-11-21')}`, noThread],
    ['one of another end', `${one.id} x 2026-11-21\n`, noThread],
    ['two that are not in order', formatLines([two, one]), noThread],
    ['one twice', formatLines([one, one]), noThread],
  ])('are refused: %s', (_, text, reason) => {
    expect(() => parseLines(file, text)).toThrow(
      expect.objectContaining({
        message: `${file} is no list of archived threads: ${reason}`,
        code: 'invalid-archive',
        kind: 'data',
        hint: 'it was not written by uwf; remove the ref that leads to it',
      }),
    );
  });
});

test('an archived thread is found where its history ref was', () => {
  const ref = `refs/history/2026-11-21/${one.id}`;
  expect(pointerOfArchived(one)).toEqual({ id: one.id, ref, head: one.end, isHistory: true, isArchived: true });
  expect(invalidArchive(file, 'why')).toBeInstanceOf(UwfError);
});

describe('a list', () => {
  test('is a commit that follows from its lines alone', async () => {
    const repository = createMapRepository();
    const keeper = { name: 'uwf', email: 'uwf@localhost', atMs: Date.UTC(2038, 0, 1) };
    expect(await readCommit(repository.objects, await storeList(repository, [one]))).toMatchObject({
      parents: [],
      author: keeper,
      committer: keeper,
      message: 'archive\n',
    });
    expect(await storeList(repository, [one, two])).toBe(await storeList(repository, [two, one]));
  });

  test('yields the threads whose ids begin with a text', async () => {
    const repository = createMapRepository();
    const all = archivedLines(70);
    const list = new ArchiveList(repository.objects, await storeList(repository, all));
    const found = async (text: string): Promise<ArchivedThread[]> => {
      const lines: ArchivedThread[] = [];
      for await (const line of list.startingWith(text)) lines.push(line);
      return lines;
    };
    expect(await found('')).toEqual(all);
    expect(await found(all[40]!.id.slice(0, 25))).toEqual(all.slice(32, 64));
    expect(await found('01N')).toEqual([]);
    expect(await list.find(all[40]!.id)).toEqual(all[40]);
  });

  test('of many threads is read no further than a text, and each object once', async () => {
    const repository = createMapRepository();
    const all = archivedLines(1001);
    const commit = await storeList(repository, all);
    const spied = watched(repository);
    const list = new ArchiveList(spied.repository.objects, commit);
    const found: ArchivedThread[] = [];
    for await (const line of list.startingWith(all[990]!.id.slice(0, 25))) found.push(line);
    expect(found).toEqual(all.slice(960, 992));
    const [levels, files] = [25, 1];
    expect(spied.read).toHaveLength(1 + levels + files);
    expect(await list.find(all[961]!.id)).toEqual(all[961]);
    expect(spied.read).toHaveLength(1 + levels + files + 1);
  });

  test('is empty where there is no commit, or its tree is empty', async () => {
    const repository = createMapRepository();
    const none = new ArchiveList(repository.objects, undefined);
    expect([await none.tree(), await none.find(one.id)]).toEqual([undefined, undefined]);
    expect(await findListFault(repository.objects, await storeList(repository, []))).toBeUndefined();
  });
});

describe('the fault of a list', () => {
  const faultOf = async (treeOf: (batch: ObjectBatch) => ObjectId): Promise<string | undefined> => {
    const repository = createMapRepository();
    const batch = new ObjectBatch();
    const commit = addListCommit(batch, treeOf(batch));
    await repository.objects.write(batch.objects);
    return findListFault(repository.objects, commit);
  };
  const fileOf = (batch: ObjectBatch, name: string, lines: readonly ArchivedThread[] = [one], mode = '100644') =>
    batch.addTree([{ mode: mode as '100644', name, id: batch.addBlob(formatLines(lines)) }]);
  const inFolders = (batch: ObjectBatch, path: string, lines?: readonly ArchivedThread[]): ObjectId =>
    Array.from(path.slice(0, -1)).reduceRight<ObjectId>(
      (id, name) => batch.addTree([{ mode: '040000', name, id }]),
      fileOf(batch, path.slice(-1), lines),
    );
  const noCharacter = 'an entry is no character of an id';

  test.each<[string, string | undefined, (batch: ObjectBatch) => ObjectId]>([
    ['a file for a character', undefined, (batch) => fileOf(batch, '0')],
    ['a file for a whole id', undefined, (batch) => inFolders(batch, one.id)],
    ['a file for more than an id', noCharacter, (batch) => inFolders(batch, `${one.id}0`)],
    ['a letter that ids do not have', noCharacter, (batch) => fileOf(batch, 'U')],
    ['two characters, the first no letter of ids', noCharacter, (batch) => fileOf(batch, 'U0')],
    ['two characters', noCharacter, (batch) => fileOf(batch, '01')],
    ['a link', noCharacter, (batch) => fileOf(batch, '0', [one], '120000')],
    ['a line in the wrong file', 'a line is in the wrong file', (batch) => fileOf(batch, '1')],
    [
      'one of two lines in the wrong file',
      'a line is in the wrong file',
      (batch) => inFolders(batch, one.id, [one, two]),
    ],
    [
      'a fault in its second file',
      'a line is in the wrong file',
      (batch) =>
        batch.addTree(
          ['0', '1'].map((name) => ({ mode: '100644', name, id: batch.addBlob(formatLines([one])) }) as const),
        ),
    ],
    [
      'an empty folder',
      'a folder is empty',
      (batch) => batch.addTree([{ mode: '040000', name: '0', id: batch.addTree([]) }]),
    ],
  ])('that has %s: %s', async (_, reason, treeOf) => {
    const fault = await faultOf(treeOf);
    expect(fault?.replace(/^[0-9a-f]{40} is no list of archived threads: /, '')).toBe(reason);
  });

  test('is a commit that is written in another way', async () => {
    const repository = createMapRepository();
    const batch = new ObjectBatch();
    const who = { name: 'uwf', email: 'uwf@localhost', atMs: 0 };
    const tree = fileOf(batch, '0');
    const commit = batch.addCommit({ tree, parents: [], author: who, committer: who, message: 'archive\n' });
    await repository.objects.write(batch.objects);
    expect(await findListFault(repository.objects, commit)).toBe(
      `${commit} is no list of archived threads: its commit is not written so`,
    );
  });

  test('is a file that is too large to be one, which is not read', async () => {
    const repository = await createTemporaryRepository().open();
    const batch = new ObjectBatch();
    const id = batch.addBlob('x'.repeat(MAX_BYTES + 1));
    const commit = addListCommit(batch, batch.addTree([{ mode: '100644', name: '0', id }]));
    await publish(repository, batch, [{ name: LIST_REF, expected: null, value: commit }]);
    expect(await findListFault(repository.objects, commit)).toContain(`${id} has ${MAX_BYTES + 1} bytes`);
  });

  test('is not told where the machine failed', async () => {
    const repository = createMapRepository();
    const commit = await storeList(repository, [one]);
    const error = new UwfError('the disk is gone', { code: 'x', kind: 'environment' });
    const objects = { ...repository.objects, read: () => Promise.reject(error) };
    await expect(findListFault(objects, commit)).rejects.toBe(error);
  });
});
