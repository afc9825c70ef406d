import { beforeAll, describe, expect, test } from 'vitest';
import { NotJson } from '../../../src/cas/canonical.ts';
import { parseNodeHash, prepareHashing } from '../../../src/cas/hash.ts';
import { nodesBehind } from '../../../src/cas/commit-nodes.ts';
import { repositoryNodes } from '../../../src/cas/lookup.ts';
import { encodeNode, getNode, MemorySource, NodeNotFound } from '../../../src/cas/node.ts';
import { isArtifact, listScratch } from '../../../src/cas/scratch.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { builtIn, builtInSchema } from '../../../src/schema/built-in.ts';
import { DanglingLink, findReachableHashes, refs, walk, WrongLinkType } from '../../../src/schema/links.ts';
import { putNode, putSchema, schemaRef } from '../../../src/schema/put.ts';
import { validate } from '../../../src/schema/validate.ts';
import { InvalidSchema, SchemaViolation } from '../../../src/schema/schema-error.ts';
import { createMemoryRepository, expectCleanMemory } from '../../helpers/memory-repository.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';

beforeAll(prepareHashing);

const pins = parseRefName('refs/uwf/pins');
const scratch = parseRefName('refs/uwf/scratch/01KTWEWZ760000000000000000');
const absent = parseNodeHash('0000000000000');
const person = {
  type: 'object',
  properties: { name: { type: 'string' }, bio: { type: 'string', format: 'cas_ref', cas_type: 'content' } },
  required: ['name'],
};

describe('putSchema', () => {
  test('gives the same hash for the same schema, and keeps it', async () => {
    const temporary = createTemporaryRepository();
    const repository = await temporary.open();
    const hash = await putSchema(repository, person);
    const tip = temporary.git('rev-parse', schemaRef(hash));
    expect(await putSchema(repository, { ...person, type: 'object' })).toBe(hash);
    expect(temporary.git('rev-parse', schemaRef(hash))).toBe(tip);
    temporary.git('gc', '--quiet', '--prune=now');
    const fresh = await temporary.open();
    const node = await getNode(repositoryNodes(fresh), hash);
    expect(node.type).toBe(builtIn['meta-schema']);
    expect(node.payload).toEqual(person);
    expect(await validate(fresh, hash)).toEqual({ valid: true, errors: [] });
    expectCleanFsck(temporary.dir);
  });

  test('of several at once is one', async () => {
    const memory = await createMemoryRepository();
    const hashes = await Promise.all(Array.from({ length: 8 }, () => putSchema(memory.repository, person)));
    expect(new Set(hashes).size).toBe(1);
    expect(await memory.repository.refs.list('refs/')).toHaveLength(1);
    expectCleanMemory(memory);
  });

  test('writes nothing for a built-in schema', async () => {
    const { repository } = await createMemoryRepository();
    expect(await putSchema(repository, builtInSchema('content'))).toBe(builtIn.content);
    expect(await putSchema(repository, builtInSchema('meta-schema'))).toBe(builtIn['meta-schema']);
    expect(await repository.refs.list('refs/')).toEqual([]);
  });

  test('refuses what is no schema, and writes nothing', async () => {
    const { repository } = await createMemoryRepository();
    await expect(putSchema(repository, { type: 'text' })).rejects.toThrow(InvalidSchema);
    await expect(putSchema(repository, { title: '\ud800' })).rejects.toThrow(NotJson);
    expect(await repository.refs.list('refs/')).toEqual([]);
  });
});

describe('putNode', () => {
  test('stores a node of a registered type with the schema that it needs', async () => {
    const memory = await createMemoryRepository();
    const { repository } = memory;
    const type = await putSchema(repository, person);
    const bio = await putNode(repository, builtIn.content, { text: 'born' }, { ref: scratch });
    const hash = await putNode(repository, type, { name: 'Alice', bio }, { ref: scratch });
    // On its own, as a fetch of this ref alone would bring it.
    const alone = nodesBehind(repository, [(await repository.refs.read(scratch))!]);
    expect(await validate(alone, hash)).toEqual({ valid: true, errors: [] });
    expect(await refs(alone, hash)).toEqual([bio]);
    for (const needed of [type, builtIn.content, builtIn['meta-schema']])
      expect(await alone.find(needed)).toBeDefined();
    expect(await findReachableHashes(repository, [hash])).toEqual(new Set([hash, bio]));
    const put = (await listScratch(repository, scratch)).filter(isArtifact);
    expect(new Set(put.map((entry) => entry.hash))).toEqual(new Set([hash, bio]));
    expectCleanMemory(memory);
  });

  test.each(['', 'x', 'refs/heads/main.lock', 'refs/uwf/a b'])("refuses '%s', which git has no ref of", async (ref) => {
    const { repository } = await createMemoryRepository();
    const put = putNode(repository, builtIn.content, { text: 'a' }, { ref });
    await expect(put).rejects.toMatchObject({ code: 'invalid-ref-name', kind: 'usage' });
  });

  test.each([
    'HEAD',
    'refs/heads/main',
    'refs/threads/01KTWEWZ760000000000000000',
    'refs/uwf/pinned',
    'refs/uwf/scratch',
  ])("refuses '%s', which is no scratch ref", async (ref) => {
    const { repository } = await createMemoryRepository();
    const put = putNode(repository, builtIn.content, { text: 'a' }, { ref });
    await expect(put).rejects.toMatchObject({ code: 'no-scratch-ref', kind: 'usage' });
    expect(await repository.refs.list('refs/')).toEqual([]);
  });

  test('takes along what the node links to elsewhere, but not what is kept anyway', async () => {
    const memory = await createMemoryRepository();
    const { repository } = memory;
    const inner = await putNode(repository, builtIn.content, { text: 'inner' }, { ref: scratch });
    const outer = await putNode(repository, builtIn.content, { text: 'outer', refs: [inner] }, { ref: scratch });
    const top = { text: 'top', refs: [outer] };
    const kept = nodesBehind(repository, [(await repository.refs.read(scratch))!]);
    const linked = async (): Promise<string[]> =>
      (await listScratch(repository, scratch)).map(({ path }) => path).filter((path) => path.startsWith('linked/'));
    // What was put may be dropped again; what links to it must not hang in the air then.
    expect(await linked()).toEqual([`linked/${inner}.json`]);
    await putNode(repository, builtIn.content, top, { ref: scratch, kept });
    expect(await linked()).toEqual([`linked/${inner}.json`]);
    const pinned = await putNode(repository, builtIn.content, top, { ref: pins });
    await repository.refs.update([{ name: scratch, expected: (await repository.refs.read(scratch))!, value: null }]);
    const seen: unknown[] = [];
    for await (const { payload } of walk(repository, pinned)) seen.push(payload);
    expect(seen).toEqual([top, { text: 'outer', refs: [inner] }, { text: 'inner' }]);
    expectCleanMemory(memory);
  });

  test('refuses what does not match, what leads nowhere and what leads to the wrong type, and writes nothing', async () => {
    const { repository } = await createMemoryRepository();
    const type = await putSchema(repository, person);
    const put = (payload: Parameters<typeof putNode>[2], of = type): Promise<unknown> =>
      putNode(repository, of, payload, { ref: scratch });
    await expect(put({})).rejects.toThrow(SchemaViolation);
    await expect(put({})).rejects.toThrow(`the node of type ${type} does not match`);
    await expect(put({ name: 'A', bio: absent })).rejects.toThrow(DanglingLink);
    await expect(put({ name: 'A', more: { $cas: absent } })).rejects.toThrow(
      expect.objectContaining({ hash: absent, path: '/more' }),
    );
    await expect(put({ name: 'A', bio: type })).rejects.toThrow(WrongLinkType);
    await expect(put({ name: 'A', bio: type })).rejects.toThrow(
      `the link at /bio has to lead to content, but ${type} is meta-schema`,
    );
    await expect(put({ name: 'A' }, absent)).rejects.toThrow(NodeNotFound);
    expect(await repository.refs.read(scratch)).toBeUndefined();
  });

  test('refuses a type that is no schema', async () => {
    const { repository } = await createMemoryRepository();
    const text = await putNode(repository, builtIn.content, { text: '{}' }, { ref: scratch });
    await expect(putNode(repository, text, {}, { ref: scratch })).rejects.toThrow(InvalidSchema);
  });

  test('checks a link to a type that somebody registered', async () => {
    const { repository } = await createMemoryRepository();
    const type = await putSchema(repository, person);
    const team = await putSchema(repository, { items: { type: 'string', format: 'cas_ref', cas_type: type } });
    const alice = await putNode(repository, type, { name: 'Alice' }, { ref: scratch });
    const note = await putNode(repository, builtIn.content, { text: 'Bob' }, { ref: scratch });
    await expect(putNode(repository, team, [alice], { ref: scratch })).resolves.toBeTypeOf('string');
    await expect(putNode(repository, team, [note], { ref: scratch })).rejects.toThrow(WrongLinkType);
  });
});

describe('validate', () => {
  test('reports every link that is wrong, with its place', async () => {
    const source = new MemorySource([encodeNode(builtIn.agent, { name: 'a', package: 'p', version: '', config: {} })]);
    const agent = encodeNode(builtIn.agent, { name: 'a', package: 'p', version: '', config: {} }).hash;
    const payload = { content: agent, errors: [], usage: null };
    expect(await validate(source, { type: builtIn.attempt, payload })).toEqual({
      valid: false,
      errors: [{ path: '/content', message: `the link at /content has to lead to content, but ${agent} is agent` }],
    });
  });

  test('of a node that is not there fails', async () => {
    const { repository } = await createMemoryRepository();
    await expect(validate(repository, absent)).rejects.toThrow(NodeNotFound);
  });
});
