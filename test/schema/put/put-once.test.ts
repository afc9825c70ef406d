import { beforeAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { encodeNode, MemorySource } from '../../../src/cas/node.ts';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { RefMoved } from '../../../src/git/repository.ts';
import { hashObject, type GitObject } from '../../../src/git/format/object-id.ts';
import { builtIn } from '../../../src/schema/built-in.ts';
import { putNode, putSchema, schemaRef } from '../../../src/schema/put.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';

beforeAll(prepareHashing);

const ref = parseRefName('refs/uwf/pins');
const blobsOf = ({ objectMap }: MapRepository): string[] =>
  [...objectMap.values()].filter(({ type }) => type === 'blob').map(({ data }) => Buffer.from(data).toString());

describe('a node that is put', () => {
  test('is written with its schemas, and with the blob that it pins', async () => {
    const repository = createMapRepository();
    await putNode(repository, builtIn.content, { text: 'a text' }, { ref });
    // The text, its schema, the schema of schemas, and the index of them.
    expect(blobsOf(repository)).toHaveLength(4);
    const blob: GitObject = { type: 'blob', data: Buffer.from('a file') };
    const artifact = { kind: 'blob', oid: hashObject(blob), title: 'x' };
    await putNode(repository, builtIn.artifact, artifact, { ref, blob: blob.data });
    expect(blobsOf(repository)).toContain('a file');
  });

  test('may link to a node that is kept, whatever that links to', async () => {
    const repository = createMapRepository();
    const absent = encodeNode(builtIn.content, { text: 'absent' }).hash;
    const kept = encodeNode(builtIn.content, { text: 'kept', refs: [absent] });
    const payload = { text: 'x', refs: [kept.hash] };
    const put = putNode(repository, builtIn.content, payload, { ref, kept: new MemorySource([kept]) });
    await expect(put).resolves.toBe(encodeNode(builtIn.content, payload).hash);
  });
});

describe('a schema that is registered', () => {
  const schema = { type: 'string' };

  test('names itself in the message of its commit', async () => {
    const repository = createMapRepository();
    const hash = await putSchema(repository, schema);
    const commit = repository.objectMap.get((await repository.refs.read(schemaRef(hash)))!);
    expect(Buffer.from(commit!.data).toString().split('\n\n')[1]).toBe(`schema: ${hash}\n`);
  });

  test('is not written again', async () => {
    const repository = createMapRepository();
    const hash = await putSchema(repository, schema);
    repository.objects.write = () => Promise.reject(new Error('written'));
    expect(await putSchema(repository, schema)).toBe(hash);
  });

  test('may have been registered by another process at the same moment', async () => {
    const repository = createMapRepository();
    const { hash } = encodeNode(builtIn['meta-schema'], schema);
    repository.refs.update = () => Promise.reject(new RefMoved(schemaRef(hash), null, null));
    expect(await putSchema(repository, schema)).toBe(hash);
  });

  test('is not taken for registered where its ref cannot be written', async () => {
    const repository = createMapRepository();
    repository.refs.update = () => Promise.reject(new Error('disk full'));
    await expect(putSchema(repository, schema)).rejects.toThrow('disk full');
  });
});
