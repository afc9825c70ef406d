import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { repositoryNodes } from '../../../src/cas/lookup.ts';
import { encodeNode } from '../../../src/cas/node.ts';
import { isArtifact, listScratch } from '../../../src/cas/scratch.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { DanglingLink } from '../../../src/schema/links.ts';
import { putNode, putNodes } from '../../../src/schema/put.ts';
import { SchemaViolation } from '../../../src/schema/schema-error.ts';
import { threadCas } from '../../../src/thread/thread-cas.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { startLoop } from '../../thread/thread-fixture.ts';

beforeAll(prepareHashing);

const pins = parseRefName('refs/uwf/pins');
const text = (words: string): { type: typeof builtIn.content; payload: { text: string } } => ({
  type: builtIn.content,
  payload: { text: words },
});

/** The repository, and how often something was written to it. */
function counted(repository: Repository): { repository: Repository; writes: () => number } {
  let writes = 0;
  const objects: Repository['objects'] = {
    format: repository.objects.format,
    read: (id, options) => repository.objects.read(id, options),
    has: (id) => repository.objects.has(id),
    write: (batch) => {
      writes += 1;
      return repository.objects.write(batch);
    },
    close: () => repository.objects.close(),
  };
  return { repository: { ...repository, objects }, writes: () => writes };
}

describe('many nodes put at once', () => {
  test('are stored in one write, as if each had been put by itself', async () => {
    const temporary = createTemporaryRepository();
    const { repository, writes } = counted(await temporary.open());
    const nodes = Array.from({ length: 300 }, (_, at) => text(`text ${at}`));
    const hashes = await putNodes(repository, nodes, { ref: pins });
    expect(writes()).toBe(1);
    expect(hashes).toEqual(nodes.map(({ type, payload }) => encodeNode(type, payload).hash));
    const one = createMapRepository();
    for (const { type, payload } of nodes.slice(0, 5)) await putNode(one, type, payload, { ref: pins });
    const many = createMapRepository();
    await putNodes(many, nodes.slice(0, 5), { ref: pins });
    expect(await listScratch(many, pins)).toEqual(await listScratch(one, pins));
    temporary.git('gc', '--quiet', '--prune=now');
    const fresh = repositoryNodes(await temporary.open());
    for (const [at, hash] of hashes.entries())
      expect((await fresh.find(hash))?.payload).toEqual({ text: `text ${at}` });
    expectCleanFsck(temporary.dir);
  });

  test('may link to each other, in any order', async () => {
    const repository = createMapRepository();
    const leaf = encodeNode(builtIn.content, { text: 'leaf' });
    const top = { type: builtIn.content, payload: { text: 'top', refs: [leaf.hash] } };
    const hashes = await putNodes(repository, [top, text('leaf')], { ref: pins });
    expect(hashes[1]).toBe(leaf.hash);
    const artifacts = (await listScratch(repository, pins)).filter(isArtifact);
    expect(artifacts.map(({ hash }) => hash).toSorted()).toEqual(hashes.toSorted());
  });

  test('are none of them stored when something is wrong with one', async () => {
    const { repository, writes } = counted(createMapRepository());
    const absent = encodeNode(builtIn.content, { text: 'nobody put this' }).hash;
    const dangling = { type: builtIn.content, payload: { text: 'x', refs: [absent] } };
    const wrong = { type: builtIn.content, payload: { words: 'x' } };
    await expect(putNodes(repository, [text('a'), dangling], { ref: pins })).rejects.toThrow(DanglingLink);
    await expect(putNodes(repository, [text('a'), wrong], { ref: pins })).rejects.toThrow(SchemaViolation);
    expect(writes()).toBe(0);
    expect(await repository.refs.read(pins)).toBeUndefined();
  });

  test('wait under their thread for a step to take them in', async () => {
    const repository = createMapRepository();
    const { id } = await startLoop(repository);
    const cas = threadCas(repository, id);
    const hashes = await cas.putAll([text('a'), text('b'), text('a')]);
    expect(hashes[0]).toBe(hashes[2]);
    expect(await cas.list()).toEqual(
      hashes
        .slice(0, 2)
        .toSorted()
        .map((hash) => ({ hash, step: undefined })),
    );
    expect(await cas.putAll([])).toEqual([]);
  });
});
