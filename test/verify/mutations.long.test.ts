import { describe, expect, test } from 'vitest';
import { parseCommit, parseTree } from '../../src/git/format/objects.ts';
import { hashObject, type ObjectId } from '../../src/git/format/object-id.ts';
import type { Fault } from '../../src/verify/find-chain.ts';
import { Verification } from '../../src/verify/verification.ts';
import type { Repository } from '../../src/git/repository.ts';
import { checkAll } from './incoming/incoming-fixture.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { dice, forge, forgeries, growThreads, oneOf, remoteWith } from './forgeries.ts';
import { putTogether, takeApart } from './forge.ts';

const { repository, threads } = await growThreads(40);

async function verify(where: Repository, head: ObjectId): Promise<Fault[]> {
  return (await new Verification(where).verify(head)).findings;
}

/** Every object that a thread reaches. */
function objectsOf(head: ObjectId): ObjectId[] {
  const found = new Set<ObjectId>();
  const pending = [head];
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const object = repository.objectMap.get(id);
    if (object === undefined || found.has(id)) continue;
    found.add(id);
    if (object.type === 'commit') {
      const { tree, parents } = parseCommit(object.data);
      pending.push(tree, ...parents);
    } else if (object.type === 'tree') pending.push(...parseTree(object.data).map((entry) => entry.id));
  }
  return [...found];
}

describe('of what is done to the objects of a thread', () => {
  test('no flipped bit is missed', async () => {
    const missed: string[] = [];
    for (let count = 0; count < 120; count++) {
      const { id, head } = oneOf(threads);
      // An empty blob has no bit to flip.
      const target = oneOf(objectsOf(head.id).filter((oid) => repository.objectMap.get(oid)?.data.length));
      const { type, data } = repository.objectMap.get(target)!;
      const flipped = Buffer.from(data);
      flipped[dice(flipped.length)]! ^= 1 << dice(8);
      const damaged = createMapRepository(new Map(repository.objectMap).set(target, { type, data: flipped }));
      const findings = await verify(damaged, head.id);
      if (!findings.some(({ what }) => what.includes(target))) missed.push(`${type} ${target} of ${id}`);
    }
    expect(missed).toEqual([]);
  });

  test('no missing object is missed', async () => {
    const missed: string[] = [];
    for (let count = 0; count < 40; count++) {
      const { id, head } = oneOf(threads);
      const target = oneOf(objectsOf(head.id));
      const objects = new Map(repository.objectMap);
      objects.delete(target);
      const findings = await verify(createMapRepository(objects), head.id);
      if (!findings.some(({ what }) => what.includes(target))) missed.push(`${target} of ${id}`);
    }
    expect(missed).toEqual([]);
  });
});

describe('of a commit that is written otherwise', () => {
  /** The head of a thread with other bytes, under the id of these. */
  async function rewritten(change: (text: string) => string): Promise<string[]> {
    const { head } = threads[0]!;
    const text = Buffer.from(repository.objectMap.get(head.id)!.data).toString();
    const object = { type: 'commit' as const, data: Buffer.from(change(text)) };
    const there = createMapRepository(new Map(repository.objectMap).set(hashObject(object), object));
    return (await verify(there, hashObject(object))).map(({ what }) => what);
  }
  const added = (header: string) => rewritten((text) => text.replace('\n\n', `\n${header}\n\n`));

  test.each([
    ['another header', 'x-note smuggled'],
    ['an encoding', 'encoding ISO-8859-1'],
    ['a merged tag', 'mergetag object 0\n type commit'],
  ])('%s is found', async (_, header) => {
    expect(await added(header)).toEqual([expect.stringContaining('other headers')]);
  });

  test('another time zone is found', async () => {
    const findings = await rewritten((text) => text.replace(/\+0000\n\n/, '+0200\n\n'));
    expect(findings).toEqual([expect.stringContaining('other headers')]);
  });

  test.each(['gpgsig', 'gpgsig-sha256'])('a signature (%s) is not', async (name) => {
    expect(await added(`${name} -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----`)).toEqual([]);
  });
});

describe('of what a forger does who works every hash and id out anew', () => {
  test('a thread that is only taken apart and put together is sound', async () => {
    const { id, head } = oneOf(threads);
    const again = await putTogether(await takeApart(repository, id, head.id));
    expect(again.head).toBe(head.id);
    expect(await verify(again.repository, again.head)).toEqual([]);
    expect((await checkAll(remoteWith(again.repository, id, again.head))).size).toBe(0);
  });

  // The same is told in words, and refused by a fetch, in `forgeries.test.ts`.
  test.each(Object.keys(forgeries))('%s is found wherever it is', async (name) => {
    let found = 0;
    for (let tries = 0; found < 4 && tries < 200; tries++) {
      const forged = await forge(repository, oneOf(threads), name);
      if (forged === undefined) continue;
      expect(await verify(forged.repository, forged.head)).not.toEqual([]);
      found += 1;
    }
    expect(found).toBe(4);
  });
});
