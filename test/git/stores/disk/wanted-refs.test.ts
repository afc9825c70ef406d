import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import type { Ref, WantedRefs } from '../../../../src/git/repository.ts';
import { createTemporaryRepository } from '../../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../../helpers/temporary-repository.ts';

const id = (digit: string): ObjectId => digit.repeat(40) as ObjectId;

/** Writes refs as git would, whether or not their objects exist. */
function writeRefs(dir: string, packed: Record<string, string>, loose: Record<string, string>, isSorted = true): void {
  const names = Object.keys(packed).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const lines = (isSorted ? names : names.toReversed()).map((name) => `${packed[name]} ${name}\n`);
  const head = `# pack-refs with: peeled fully-peeled${isSorted ? ' sorted' : ''} \n`;
  writeFileSync(join(dir, '.git/packed-refs'), head + lines.join(''));
  for (const [name, value] of Object.entries(loose)) {
    mkdirSync(join(dir, '.git', name, '..'), { recursive: true });
    writeFileSync(join(dir, '.git', name), `${value}\n`);
  }
}

async function list(temporary: TemporaryRepository, wanted?: WantedRefs): Promise<Ref[]> {
  const repository = await temporary.open();
  try {
    return await repository.refs.list('refs/threads/', wanted);
  } finally {
    await repository.close();
  }
}

describe('the refs that somebody wants', () => {
  test('are those that a search through all of them finds', async () => {
    const name = fc
      .constantFrom('a', 'ab', 'b', 'b0', 'c', 'z', 'ä', '\u{1F600}', 'x/1', 'x/11', 'x.y/1', 'x0/1', 'y/1', 'y/0/1')
      .map((text) => `refs/threads/${text}`);
    const other = fc.constantFrom('refs/heads/main', 'refs/threads.x', 'refs/threadsz', 'refs/uwf/x');
    // Null, for a packed one is read as a whole or not at all.
    const broken = id('0');
    const values = fc.dictionary(fc.oneof(name, other), fc.constantFrom(id('1'), id('2'), broken), { maxKeys: 10 });
    const wanted = fc.record(
      {
        startsWith: fc.constantFrom('refs/threads/', 'refs/threads/a', 'refs/threads/b0'),
        notBefore: fc.constantFrom('refs/', 'refs/threads/', 'refs/threads/aa', 'refs/threads/b', 'refs/threads/zz'),
        lastPart: fc.constantFrom('1', '11', 'b'),
        where: fc.constant((text: string) => !text.endsWith('b')),
        last: fc.integer({ min: 1, max: 9 }),
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(values, values, fc.boolean(), wanted, async (packed, loose, isSorted, which) => {
        const temporary = createTemporaryRepository();
        writeRefs(temporary.dir, packed, loose, isSorted);
        const expected = (await list(temporary))
          .filter(({ name: text }) => Buffer.compare(Buffer.from(text), Buffer.from(which.notBefore ?? '')) >= 0)
          .filter((ref) => ref.name.startsWith(which.startsWith ?? '') && which.where?.(ref.name) !== false)
          .filter((ref) =>
            ref.name
              .split('/')
              .at(-1)!
              .startsWith(which.lastPart ?? ''),
          )
          .slice(which.last === undefined ? 0 : -which.last);
        const found = await list(temporary, which);
        // A store may give more, and does so only where something is broken.
        if (![...Object.values(packed), ...Object.values(loose)].includes(broken)) expect(found).toEqual(expected);
        expect(found.slice(which.last === undefined ? 0 : -which.last)).toEqual(expected);
        temporary.remove();
      }),
      { numRuns: 100 },
    );
  }, 60_000);

  test('are found among thousands of packed ones, between their neighbours', async () => {
    const temporary = createTemporaryRepository();
    const names = Array.from({ length: 5000 }, (_, at) => `refs/threads/${String(at).padStart(26, '0')}`);
    const packed = Object.fromEntries([...names, 'refs/heads/main', 'refs/uwf/pins'].map((name) => [name, id('1')]));
    writeRefs(temporary.dir, packed, { [names[4998]!]: id('2'), 'refs/threads/9': id('3') });
    for (const last of [1, 2, 20, 400, 4999, 5001, 9000]) {
      const expected = [...names, 'refs/threads/9'].slice(-last);
      expect((await list(temporary, { last })).map(({ name }) => name)).toEqual(expected);
    }
    const [found] = await list(temporary, { startsWith: names[4998]! });
    expect(found).toEqual({ name: names[4998], id: id('2') });
  });

  test('are found by their last part in a file that is read in several pieces', async () => {
    const temporary = createTemporaryRepository();
    const leaf = (at: number): string => String(at).padStart(26, '0');
    const names = Array.from({ length: 30_000 }, (_, at) => `refs/threads/${at % 7}/${leaf(at)}`);
    writeRefs(temporary.dir, Object.fromEntries(names.map((name) => [name, id('1')])), {});
    for (const at of [0, 6, 11_000, 29_999, 30_000]) {
      const found = await list(temporary, { lastPart: leaf(at) });
      expect(found.map(({ name }) => name)).toEqual(names.slice(at, at + 1));
    }
  });

  test('are the only ones whose files are read', async () => {
    const temporary = createTemporaryRepository();
    const names = Array.from({ length: 30 }, (_, at) => `refs/threads/${at + 10}`);
    writeRefs(temporary.dir, {}, Object.fromEntries(names.map((name) => [name, id('1')])));
    const repository = await temporary.open();
    for (const name of names.slice(0, 25)) {
      const path = join(temporary.dir, '.git', name);
      rmSync(path);
      // Leads to itself: to read it fails.
      symlinkSync(path, path);
    }
    const read: string[] = [];
    const damaged = ({ ref }: { ref: string }): void => void read.push(ref);
    await repository.refs.list('refs/threads/', { damaged });
    expect(read.splice(0)).toHaveLength(25);
    const found = await repository.refs.list('refs/threads/', { startsWith: 'refs/threads/3', last: 5, damaged });
    expect(read).toEqual([]);
    expect(found.map(({ name }) => name)).toEqual(names.slice(25));
  });
});
