import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { importThread } from '../../../src/engine/verbs/import-thread.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { exportThread, readLines, RefusedImport } from '../../../src/thread/export-thread.ts';
import { resumeThread, suspendThread } from '../../../src/thread/thread-verbs.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { startLoop, suspensionDraft } from '../../thread/thread-fixture.ts';
import { createDice, growThread, type Dice } from '../../verify/grow-thread.ts';

type Pointer = Parameters<typeof exportThread>[1];

async function linesOf(repository: Repository, pointer: Pointer): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportThread(repository, pointer, { withNodes: true })) lines.push(line);
  return lines;
}

async function* bytesOf(lines: readonly string[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
  // Pieces that respect neither lines nor characters, as a stream gives them.
  for (let at = 0; at < bytes.length; at += 1021) yield bytes.subarray(at, at + 1021);
}

async function grown(dice: Dice): Promise<{ lines: string[]; id: ThreadId; repository: Repository }> {
  const repository = createMapRepository();
  const { id, head } = await growThread(repository, dice);
  return { lines: await linesOf(repository, { id, head: head.id }), id, repository };
}

describe('exporting and importing a thread', () => {
  test('gives the same bytes again from an empty repository, and the same commits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const { lines, id } = await grown(createDice(seed));
        const other = createMapRepository();
        const imported = await importThread(other, bytesOf(lines));
        expect(imported).toMatchObject({ thread: id, isNew: true });
        expect(await linesOf(other, { id, head: imported.head })).toEqual(lines);
        expect(await importThread(other, bytesOf(lines))).toEqual({ ...imported, isNew: false });
      }),
      { numRuns: 15 },
    );
  });

  test('stores what git finds sound', async () => {
    const { lines, id } = await grown(createDice(7));
    const temporary = createTemporaryRepository();
    const { head } = await importThread(await temporary.open(), bytesOf(lines));
    expect(temporary.git('for-each-ref', '--format=%(objectname) %(refname:lstrip=-1)')).toBe(`${head} ${id}`);
    expectCleanFsck(temporary.dir);
  });

  test('writes rows of one shape, references as inline pointers', async () => {
    const { lines } = await grown(createDice(3));
    const rows = lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((row) => 'role' in row);
    expect(rows[0]).toMatchObject({ role: '__start__', meta: { workflow: 'loop', depth: 0, limits: null } });
    for (const row of rows) {
      const person = row['by'] === undefined ? [] : ['by'];
      expect(Object.keys(row)).toEqual(['role', 'content', 'meta', 'timestamp', ...person]);
      if (row['content'] === '') expect(row['role']).toMatch(/^__(?:suspend|resume)__$/);
      else expect(row['content']).toEqual({ $cas: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{13}$/) });
    }
  });
});

test('a thread that was suspended is refused where that is told otherwise, or left out', async () => {
  const repository = createMapRepository();
  const waiting = await suspendThread(repository, await startLoop(repository), suspensionDraft());
  const { id, head } = await resumeThread(repository, waiting, 'the left one');
  const lines = await linesOf(repository, { id, head: head.id });
  expect(lines[1]).toContain('"reason":"a question"');
  for (const changed of [
    lines.with(1, lines[1]!.replace('a question', 'another question')),
    lines.filter((_, at) => at !== 1),
    lines.filter((_, at) => at !== 1 && at !== 2),
  ]) {
    await expect(importThread(createMapRepository(), bytesOf(changed))).rejects.toThrow(RefusedImport);
  }
  expect(await importThread(createMapRepository(), bytesOf(lines))).toMatchObject({ head: head.id });
});

describe('a file that is no sound thread', () => {
  const refused: [name: string, change: (lines: string[]) => string[]][] = [
    ['is empty', () => []],
    ['has rows only', (lines) => lines.filter((line) => line.startsWith('{"role"'))],
    ['has no rows', (lines) => lines.filter((line) => !line.startsWith('{"role"'))],
    ['is cut off', (lines) => lines.slice(0, -1)],
    ['lacks a node', (lines) => lines.filter((_, at) => at !== lines.findIndex((line) => line.startsWith('{"node"')))],
    [
      'has a row that the nodes do not bear out',
      (lines) => lines.with(1, lines[1]!.replace(/"timestamp":\d/, '"timestamp":9')),
    ],
    ['has a line twice', (lines) => [lines[0]!, ...lines]],
    ['has something behind it', (lines) => [...lines, '{"role":"__end__"}']],
    ['holds no JSON', (lines) => [...lines, 'x']],
    ['has a node under a wrong hash', (lines) => lines.map((line) => line.replace(/^\{"node":"./, '{"node":"0'))],
    ['has another text in a node', (lines) => lines.map((line) => line.replace('"Do step 1."', '"Do step 2."'))],
    ['has its commits in the wrong order', (lines) => lines.toReversed()],
    [
      'has a commit that is its own parent',
      (lines) =>
        lines.map((line) => line.replace(/"commit":"(\w+)","parents":\[[^\]]*\]/, '"commit":"$1","parents":["$1"]')),
    ],
    ['has a path out of the tree', (lines) => lines.map((line) => line.replace('"prompt.md"', '"../prompt.md"'))],
    ['has an absolute path', (lines) => lines.map((line) => line.replace('"prompt.md"', '"/etc/passwd"'))],
    ['has a path into .git', (lines) => lines.map((line) => line.replace('"prompt.md"', '".git/hooks/post-checkout"'))],
    ['has a path with a line end', (lines) => lines.map((line) => line.replace('"prompt.md"', '"a\\nb"'))],
    ['has a file as a folder', (lines) => lines.map((line) => line.replace('"prompt.md"', '"start.json/x"'))],
    ['has another message', (lines) => lines.map((line) => line.replace('"message":"', '"message":"x'))],
    [
      'is another thread',
      (lines) => lines.map((line) => line.replace(/"thread":"\w+"/, '"thread":"../../heads/main"')),
    ],
    ['names nothing as its files', (lines) => lines.map((line) => line.replace(/"files":\{[^}]*\}/, '"files":{}'))],
    ['has a date that git does not know', (lines) => lines.map((line) => line.replace(/"atMs":\d+/, '"atMs":-1'))],
    [
      'nests too deeply',
      (lines) => [
        `{"node":"0000000000000","type":"0000000000000","payload":${'['.repeat(1e5)}${']'.repeat(1e5)}}`,
        ...lines,
      ],
    ],
  ];

  test.each(refused)('that %s is refused whole', async (_name, change) => {
    const { lines } = await grown(createDice(12));
    const changed = change([...lines]);
    expect(changed).not.toEqual(lines);
    const other = createMapRepository();
    await expect(importThread(other, bytesOf(changed))).rejects.toThrow(RefusedImport);
    expect([other.objectMap.size, other.refMap.size]).toEqual([0, 0]);
  });

  test('that has no end of line is read no further than the limit', async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        read += 1000;
        yield Buffer.alloc(1000, 'x');
      }
    }
    await expect(readLines(endless(), 10_000).next()).rejects.toThrow('longer than 10000 bytes');
    expect(read).toBeLessThanOrEqual(11_000);
  });

  test('does not move a thread of the same id that stands elsewhere', async () => {
    const { lines, id, repository } = await grown(createDice(12));
    const other = createMapRepository();
    const { head } = await importThread(other, bytesOf(lines));
    const shorter = (await repository.objects.has(head)) && [...other.refMap][0];
    if (!shorter) throw new Error('nothing was imported');
    const parent = JSON.parse(lines.at(-1)!).parents[0];
    other.refMap.set(shorter[0], parent);
    await expect(importThread(other, bytesOf(lines))).rejects.toMatchObject({
      code: 'thread-moved',
      message: expect.not.stringContaining('moved on'),
      hint: expect.stringContaining(`'uwf fetch <its folder> ${id}'`),
    });
    expect([...other.refMap]).toEqual([[shorter[0], parent]]);
  });
});
