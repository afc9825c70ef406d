import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { VerifiedCommits } from '../../src/verify/find-chain.ts';
import { writeChain } from '../helpers/commit-chain.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from '../thread/thread-fixture.ts';
import { forge, store } from './forge-commit.ts';

beforeAll(prepareHashing);

const headsOf = (...heads: ObjectId[]): Set<ObjectId> => new Set(heads);

async function withThread(): Promise<{
  repository: ReturnType<typeof createMapRepository>;
  start: ObjectId;
  middle: ObjectId;
  head: ObjectId;
}> {
  const repository = createMapRepository();
  const begun = await startLoop(repository);
  const first = await appendStep(repository, begun, stepDraft());
  const second = await appendStep(repository, first, stepDraft({ role: 'checker', rule: 1 }));
  return { repository, start: begun.head.id, middle: first.head.id, head: second.head.id };
}

describe('commits that were verified', () => {
  test('are those that refs of threads reach', async () => {
    const { repository, start, middle, head } = await withThread();
    const verified = await VerifiedCommits.of(repository, 'threads');
    expect(await Promise.all([head, middle, start].map((id) => verified.has(id)))).toEqual([true, true, true]);
    // And the start before others were asked about.
    expect(await (await VerifiedCommits.of(repository, 'threads')).has(start)).toBe(true);
  });

  test('are, of threads, none of a workflow, and the reverse', async () => {
    const { repository, start, head } = await withThread();
    const workflows = await VerifiedCommits.of(repository, 'workflows');
    expect(await workflows.has(head)).toBe(false);
    repository.refMap.clear();
    repository.refMap.set(parseRefName('refs/workflows/loop'), head);
    expect(await (await VerifiedCommits.of(repository, 'workflows')).has(start)).toBe(true);
    expect(await (await VerifiedCommits.of(repository, 'threads')).has(start)).toBe(false);
    repository.refMap.set(parseRefName('refs/history/2026-11-21/01KTWEWZ760000000000000000'), head);
    expect(await (await VerifiedCommits.of(repository, 'threads')).has(start)).toBe(true);
  });

  test('are not those that no ref reaches, nor those that are not here', async () => {
    const { repository, start, middle, head } = await withThread();
    repository.refMap.set([...repository.refMap.keys()][0]!, middle);
    const verified = await VerifiedCommits.of(repository, 'threads');
    expect(await verified.has(head)).toBe(false);
    expect(await verified.has(start)).toBe(true);
    expect(await verified.has('a'.repeat(40) as ObjectId)).toBe(false);
    expect(await verified.has(store(repository, 'blob', 'no commit'))).toBe(false);
  });

  test('are none of code, but for what stands on a further parent that is a thread', async () => {
    const { repository, head } = await withThread();
    const tree = store(repository, 'tree', '');
    const who = 'A <a@b> 1795262400 +0000';
    const code = store(repository, 'commit', `tree ${tree}\nauthor ${who}\ncommitter ${who}\n\nx\n`);
    const top = (parents: ObjectId[]): ObjectId => {
      const lines = parents.map((id) => `parent ${id}\n`).join('');
      return store(repository, 'commit', `tree ${tree}\n${lines}author ${who}\ncommitter ${who}\n\ntop\n`);
    };
    const first = await startLoop(repository);
    const behind = new VerifiedCommits(repository, headsOf(top([first.head.id, code, head])));
    expect(await behind.has(head)).toBe(true);
    expect(await behind.has(first.head.id)).toBe(true);
    expect(await behind.has(code)).toBe(false);
  });

  test('are none of the code behind a start, whether or not its message tells that it is one', async () => {
    const repository = createMapRepository();
    const [first, second] = await writeChain(repository, undefined, 'first', 'second');
    const { head } = await startLoop(repository, { base: second });
    const silent = forge(repository, head.id, (draft) => (draft.message = 'no trailers\n'));
    for (const start of [head.id, silent]) {
      const verified = new VerifiedCommits(repository, headsOf(start));
      expect(await verified.has(second!)).toBe(false);
      expect(await verified.has(first!)).toBe(false);
    }
  });

  test('are not sought more than a day before the commit in question', async () => {
    const repository = createMapRepository();
    const tree = store(repository, 'tree', '');
    const commitAt = (seconds: number, parent?: ObjectId): ObjectId => {
      const who = `A <a@b> ${seconds} +0000`;
      const line = parent === undefined ? '' : `parent ${parent}\n`;
      return store(
        repository,
        'commit',
        `tree ${tree}\n${line}author ${who}\ncommitter ${who}\n\nx\n\nUwf-Type: thread-step\n`,
      );
    };
    const day = 86_400;
    const asked = commitAt(10 * day);
    const inTime = commitAt(9 * day, asked);
    const tooEarly = commitAt(9 * day - 1, asked);
    expect(await new VerifiedCommits(repository, headsOf(inTime)).has(asked)).toBe(true);
    expect(await new VerifiedCommits(repository, headsOf(tooEarly)).has(asked)).toBe(false);
    // The newest is followed first, whatever the order of the heads.
    const newest = commitAt(12 * day, commitAt(11 * day, asked));
    expect(await new VerifiedCommits(repository, headsOf(tooEarly, newest)).has(asked)).toBe(true);
    expect(await new VerifiedCommits(repository, headsOf(newest, tooEarly)).has(asked)).toBe(true);
    expect(await new VerifiedCommits(repository, headsOf()).has(asked)).toBe(false);
  });

  test('are found beside a ref that leads to something damaged, and not beside trouble of the disk', async () => {
    const { repository, start, head } = await withThread();
    const damaged = store(repository, 'commit', 'no commit at all');
    const missing = 'd'.repeat(40) as ObjectId;
    expect(await new VerifiedCommits(repository, headsOf(damaged, missing, head)).has(start)).toBe(true);
    const failing = {
      ...repository,
      objects: {
        ...repository.objects,
        read: (id: ObjectId) => (id === head ? Promise.reject(new Error('EIO')) : repository.objects.read(id)),
      },
    };
    await expect(new VerifiedCommits(failing, headsOf(head)).has(start)).rejects.toThrow('EIO');
  });
});
