import { prepareHashing } from '../../cas/hash.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { encodeNode } from '../../cas/node.ts';
import { writeNodeTree } from '../../cas/node-tree.ts';
import { typePath } from '../../cas/scratch.ts';
import { ObjectBatch, publish } from '../../git/stores/publish.ts';
import { parseRefName } from '../../git/format/refs.ts';
import { RefMoved } from '../../git/ref-store.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonValue } from '../../json.ts';
import { builtIn, encodeBuiltIn, typeNameOf } from '../built-in.ts';
import { assertSchema } from '../json-schema/validate-against.ts';

/** The folder of the refs that keep registered schemas; each ref is named by the schema's hash. */
export const SCHEMA_REFS = 'refs/uwf/schemas/';

/** The ref that keeps a registered schema. */
export function schemaRef(hash: NodeHash): RefName {
  return parseRefName(SCHEMA_REFS + hash);
}

/**
 * Registers a JSON Schema (draft 2020-12) as a type for nodes, and keeps it until its ref is deleted.
 *
 * The same schema again gives the same hash and changes nothing; a built-in one needs no registering.
 * @throws {NotJson} {InvalidSchema} if the value is no schema
 */
export async function putSchema(repository: Repository, schema: JsonValue): Promise<NodeHash> {
  await prepareHashing();
  const node = encodeNode(builtIn['meta-schema'], schema);
  await assertSchema(node.payload);
  if (typeNameOf(node.hash) !== undefined) return node.hash;
  const name = schemaRef(node.hash);
  if ((await repository.refs.read(name)) !== undefined) return node.hash;
  const batch = new ObjectBatch(repository.objects.format);
  const files = [node, encodeBuiltIn('meta-schema')].map((file) => ({ path: typePath(file.hash), node: file }));
  const who = { ...repository.committer, atMs: repository.now() };
  const commit = batch.addCommit({
    tree: writeNodeTree(batch, files),
    parents: [],
    author: who,
    committer: who,
    message: `schema: ${node.hash}\n`,
  });
  try {
    await publish(repository, batch, [{ name, expected: null, value: commit }]);
  } catch (error) {
    // Another process registered the same schema at the same moment: a hash names one schema.
    if (!(error instanceof RefMoved)) throw error;
  }
  return node.hash;
}
