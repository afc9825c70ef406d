import { deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeCommit, encodeTree } from '../../src/git/format/objects.ts';
import { CorruptObject, ObjectTooLarge } from '../../src/git/format/errors.ts';
import { hashObject, parseObjectId } from '../../src/git/format/object-id.ts';
import type { GitObject, ObjectId } from '../../src/git/format/object-id.ts';
import type { ObjectStore } from '../../src/git/repository.ts';
import { blob, emptyTree } from './store-fixture.ts';
import type { CreateFixture } from './store-fixture.ts';

/** An id that no object of these tests has. */
const absentFrom = ({ format }: ObjectStore): ObjectId =>
  parseObjectId('0123456789abcdef'.repeat(4).slice(0, format === 'sha1' ? 40 : 64));

/** What every object store has to do. */
export function describeObjectStore(name: string, create: CreateFixture): void {
  describe(`${name} as an object store`, () => {
    test('gives back what was written, by its id, of every type', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      const file = blob('a file\n');
      const tree: GitObject = {
        type: 'tree',
        data: encodeTree([{ mode: '100644', name: 'file', id: idOf(file) }]),
      };
      const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };
      const commit: GitObject = {
        type: 'commit',
        data: encodeCommit({ tree: idOf(tree), parents: [], author: who, committer: who, message: 'one' }),
      };
      const tag: GitObject = {
        type: 'tag',
        data: Buffer.from(
          `object ${idOf(commit)}\ntype commit\ntag v1\ntagger A U Thor <a@example.com> 1795262400 +0000\n\none\n`,
        ),
      };
      const all = [file, tree, commit, tag];
      await (await fixture.objects.write(all)).release();
      for (const store of [fixture.objects, (await fixture.reopen()).objects]) {
        for (const object of all) {
          const read = await store.read(idOf(object));
          expect(read?.type).toBe(object.type);
          expect(Buffer.from(read!.data)).toEqual(Buffer.from(object.data));
          expect(await store.has(idOf(object))).toBe(true);
        }
      }
      fixture.expectSound();
    });

    test('says undefined for an object that is not there, and finds it once another store wrote it', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      const other = (await fixture.reopen()).objects;
      expect(await fixture.objects.read(absentFrom(fixture.objects))).toBeUndefined();
      expect(await fixture.objects.has(absentFrom(fixture.objects))).toBe(false);
      const late = blob('written by somebody else');
      expect(await fixture.objects.read(idOf(late))).toBeUndefined();
      await (await other.write([late])).release();
      expect(await fixture.objects.has(idOf(late))).toBe(true);
      expect(Buffer.from((await fixture.objects.read(idOf(late)))!.data)).toEqual(Buffer.from(late.data));
    });

    test('keeps any bytes, as they are', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      await fc.assert(
        fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 2000 }), { maxLength: 4 }), async (contents) => {
          const objects = contents.map((data): GitObject => ({ type: 'blob', data }));
          await (await fixture.objects.write(objects)).release();
          for (const object of objects) {
            expect(Buffer.from((await fixture.objects.read(idOf(object)))!.data)).toEqual(Buffer.from(object.data));
          }
        }),
        { numRuns: 25 },
      );
      fixture.expectSound();
    });

    test('keeps the empty blob, the empty tree and a blob of several megabytes', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      const large: GitObject = { type: 'blob', data: Buffer.alloc(3_000_000, 'no two lines are alike: 0123456789\n') };
      const objects = [blob(''), emptyTree, large];
      await (await fixture.objects.write(objects)).release();
      const { objects: again } = await fixture.reopen();
      for (const object of objects) {
        const read = await again.read(idOf(object));
        expect(read?.type).toBe(object.type);
        expect(Buffer.compare(read!.data, object.data)).toBe(0);
      }
      fixture.expectSound();
    });

    test('writes nothing for an empty list', async () => {
      const fixture = await create();
      const list = (): string[] =>
        (fixture.fs.readdirSync(`${fixture.gitdir}/objects`, { recursive: true }) as string[]).toSorted();
      const before = list();
      await (await fixture.objects.write([])).release();
      expect(list()).toEqual(before);
    });

    test('takes the same object again, alone, twice in one list, and beside a new one', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      const one = blob('one');
      const two = blob('two');
      await (await fixture.objects.write([one])).release();
      await (await fixture.objects.write([one])).release();
      await (await fixture.objects.write([one, two, one])).release();
      expect(Buffer.from((await fixture.objects.read(idOf(one)))!.data)).toEqual(Buffer.from('one'));
      expect(Buffer.from((await fixture.objects.read(idOf(two)))!.data)).toEqual(Buffer.from('two'));
      fixture.expectSound();
    });

    test('leaves no temporary file behind, and releasing twice is harmless', async () => {
      const fixture = await create();
      const written = await fixture.objects.write([blob('x'), blob('y')]);
      await written.release();
      await written.release();
      const names = fixture.fs.readdirSync(`${fixture.gitdir}/objects`, { recursive: true }) as string[];
      expect(names.filter((path) => /tmp_|\.keep$|\.lock$/.test(path))).toEqual([]);
    });

    test('refuses to hold an object larger than allowed, and reads one that is just as large', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      const object = blob('x'.repeat(1000));
      await (await fixture.objects.write([object])).release();
      const id = idOf(object);
      expect((await fixture.objects.read(id, { maxBytes: 1000 }))?.data.byteLength).toBe(1000);
      const refused = fixture.objects.read(id, { maxBytes: 999 });
      await expect(refused).rejects.toThrow(ObjectTooLarge);
      await expect(refused).rejects.toMatchObject({ id, bytes: 1000, maxBytes: 999 });
    });

    test('calls an object corrupt whose loose file was cut short, and heals it by writing it again', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      const object = blob(Array.from({ length: 400 }, (_, number) => `line ${number * number}`).join('\n'));
      const id = idOf(object);
      const folder = `${fixture.gitdir}/objects/${id.slice(0, 2)}`;
      fixture.fs.mkdirSync(folder, { recursive: true });
      // The first bytes of a zlib stream, as a writer leaves them that was killed while it wrote in place.
      fixture.fs.writeFileSync(`${folder}/${id.slice(2)}`, Buffer.from([0x78, 0x01, 0x4b, 0xca]));
      await expect(fixture.objects.read(id)).rejects.toThrow(CorruptObject);
      await (await fixture.objects.write([object])).release();
      const { objects: again } = await fixture.reopen();
      expect(Buffer.from((await again.read(id))!.data)).toEqual(Buffer.from(object.data));
    });

    test('refuses an object whose content is that of another id', async () => {
      const fixture = await create();
      const folder = `${fixture.gitdir}/objects/${absentFrom(fixture.objects).slice(0, 2)}`;
      fixture.fs.mkdirSync(folder, { recursive: true });
      fixture.fs.writeFileSync(
        `${folder}/${absentFrom(fixture.objects).slice(2)}`,
        deflateSync(Buffer.from('blob 6\0forged')),
      );
      await expect(fixture.objects.read(absentFrom(fixture.objects))).rejects.toThrow(CorruptObject);
    });

    test('works again after it was closed', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      await (await fixture.objects.write([blob('before')])).release();
      await fixture.objects.close();
      expect(await fixture.objects.has(idOf(blob('before')))).toBe(true);
      await fixture.objects.close();
      await (await fixture.objects.write([blob('after')])).release();
      expect(await fixture.objects.read(idOf(blob('after')))).toBeDefined();
      await fixture.objects.close();
    });

    test('makes a fan-out folder again that git removed', async () => {
      const fixture = await create();
      const idOf = (object: GitObject): ObjectId => hashObject(object, fixture.objects.format);
      await (await fixture.objects.write([blob('first')])).release();
      for (const entry of fixture.fs.readdirSync(`${fixture.gitdir}/objects`)) {
        if (/^[0-9a-f]{2}$/.test(entry)) fixture.fs.rmSync(`${fixture.gitdir}/objects/${entry}`, { recursive: true });
      }
      await (await fixture.objects.write([blob('first'), blob('second')])).release();
      expect(await fixture.objects.has(idOf(blob('first')))).toBe(true);
      expect(await fixture.objects.has(idOf(blob('second')))).toBe(true);
    });
  });
}
