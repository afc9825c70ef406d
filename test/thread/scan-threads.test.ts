import { describe, expect, test } from 'vitest';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { createRedactor } from '../../src/redaction/create-redactor.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread } from '../../src/thread/thread-verbs.ts';
import { type ScanFinding, scanThreads, SecretScan } from '../../src/thread/secret-scan.ts';
import { PINS_REF } from '../../src/thread/thread-id.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

const secret = 'correct horse battery staple';
const redactor = createRedactor({ key: Buffer.alloc(32, 1), known: [secret] });

async function scanAll(
  repository: MapRepository,
  ...threads: Parameters<typeof scanThreads>[2][]
): Promise<ScanFinding[]> {
  const found: ScanFinding[] = [];
  for await (const finding of scanThreads(repository, new SecretScan(repository, redactor), ...threads))
    found.push(finding);
  return found;
}

/** The files with secrets in each commit: `writer 2: output.md`. */
const placesOf = (found: readonly ScanFinding[]): string[][] =>
  found.map(({ places }) => [...new Set(places.map(({ step, file }) => `${step}: ${file}`))]);

/** A commit of code, whose message has a secret or not. */
async function addCode(repository: MapRepository, message: string) {
  const batch = new ObjectBatch();
  const tree = batch.addTree([]);
  const signature = { name: 'A', email: 'a@b', atMs: 0 };
  const id = batch.addCommit({ tree, parents: [], author: signature, committer: signature, message });
  await repository.objects.write(batch.objects);
  return id;
}

describe('a scan of a thread', () => {
  test('tells the secrets of each commit, the newest first, with the step that has them', async () => {
    const repository = createMapRepository();
    let state = await startLoop(repository, { prompt: `Use ${secret}.` });
    state = await appendStep(repository, state, stepDraft({ text: 'nothing' }));
    state = await appendStep(repository, state, stepDraft({ text: `it is\n${secret}` }));
    const found = await scanAll(repository);
    expect(found.map(({ thread, ref, unread }) => [thread, ref, unread])).toEqual(
      Array.from({ length: 3 }, () => [state.id, `refs/threads/${state.id}`, undefined]),
    );
    expect(placesOf(found)).toEqual([['2: message', '2: output.md'], [], ['null: message', 'null: prompt.md']]);
    expect(found[0]?.places[0]?.commit).toBe(state.head.id);
  });

  test('goes no further than its start, and passes each commit once', async () => {
    const repository = createMapRepository();
    const state = await appendStep(repository, await startLoop(repository), stepDraft());
    repository.refMap.set(parseRefName(`refs/threads/${state.id.slice(0, -1)}0`), state.head.id);
    expect(await scanAll(repository)).toHaveLength(2);
  });

  test('looks at the code that a thread stands on only from the commit of the code', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    const code = await addCode(repository, `our ${secret}`);
    const found = await scanAll(repository, [
      { id: state.id, ref: parseRefName('refs/heads/main'), head: code, isHistory: false },
    ]);
    expect(placesOf(found)).toEqual([['null: message']]);
  });

  test('includes the children that its steps have taken in, and the caller of a child, at last', async () => {
    const repository = createMapRepository();
    const caller = await startLoop(repository, { prompt: `caller: ${secret}` });
    let child = await startLoop(repository, { prompt: `child: ${secret}` });
    child = await endThread(repository, child, { outcome: 'completed', returnCode: 0, summary: 'done' });
    const taken = { commit: child.head.id, hash: child.head.hash };
    const state = await appendStep(repository, caller, stepDraft({ childThreads: [taken] }));
    // The child has no ref of its own any more.
    for (const name of repository.refMap.keys()) if (name.includes(child.id)) repository.refMap.delete(name);
    const found = await scanAll(repository);
    expect(found.map(({ thread }) => thread)).toEqual(Array.from({ length: 4 }, () => state.id));
    expect(placesOf(found)).toEqual([
      [],
      ['null: message', 'null: prompt.md'],
      [],
      ['null: message', 'null: prompt.md'],
    ]);
  });

  test('tells what cannot be read, and goes on with the other threads', async () => {
    const repository = createMapRepository();
    const broken = await appendStep(repository, await startLoop(repository), stepDraft());
    const sound = await startLoop(repository);
    repository.objectMap.delete(broken.start.id);
    const found = await scanAll(repository);
    const unread = found.filter((finding) => finding.unread !== undefined);
    expect(unread).toHaveLength(1);
    expect(unread[0]).toMatchObject({ thread: broken.id, places: [] });
    expect(unread[0]?.unread).toContain(broken.start.id);
    expect(found.some(({ thread }) => thread === sound.id)).toBe(true);
  });

  test('ends where the machine fails', async () => {
    const repository = createMapRepository();
    await startLoop(repository);
    const failing = { ...repository.objects, read: () => Promise.reject(new Error('EIO')) };
    await expect(scanAll({ ...repository, objects: failing })).rejects.toThrow('EIO');
  });
});

describe('a scan of everything', () => {
  test('includes registrations, types, and what was put and not taken in; a scan of threads does not', async () => {
    const repository = createMapRepository();
    const state = await startLoop(repository);
    const head = state.head.id;
    const code = await addCode(repository, `put ${secret}`);
    const others = ['refs/uwf/scratch/x', 'refs/uwf/schemas/y', 'refs/workflows/z', PINS_REF].map(parseRefName);
    const commits = await Promise.all(others.map((name) => addCode(repository, `${name}: ${secret}`)));
    for (const [at, name] of others.entries()) repository.refMap.set(name, commits[at] ?? code);
    const found = await scanAll(repository);
    expect(found.map(({ thread, ref }) => [thread, ref])).toEqual([
      [state.id, `refs/threads/${state.id}`],
      ...others.map((name) => [null, name]),
    ]);
    expect(placesOf(found).slice(1)).toEqual(others.map(() => ['null: message']));
    const pointer = { id: state.id, ref: parseRefName(`refs/threads/${state.id}`), head, isHistory: false };
    expect(await scanAll(repository, [pointer])).toHaveLength(1);
  });
});
