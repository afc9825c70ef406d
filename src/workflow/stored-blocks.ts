import { isNodeHash, type NodeHash } from '../cas/hash.ts';
import { isJsonObject, type JsonObject } from '../json.ts';
import type { Workflow } from '../schema/built-in/workflow.ts';
import { CAS_KEY } from '../schema/find-links.ts';

/** The schema that a block of a stored workflow links to; `undefined` if it links to none. */
export function linkedSchema({ schema }: JsonObject): NodeHash | undefined {
  const hash = isJsonObject(schema) ? schema[CAS_KEY] : undefined;
  return isNodeHash(hash) ? hash : undefined;
}

/** The blocks of a stored workflow, and the schemas that they link to. Leaves out a block without a schema. */
export function storedBlockSchemas({ blocks = {} }: Pick<Workflow, 'blocks'>): [name: string, schema: NodeHash][] {
  return Object.entries(blocks).flatMap(([name, block]) => {
    const schema = linkedSchema(block);
    return schema === undefined ? [] : [[name, schema] as const];
  });
}

/** The name under which the start of a thread has the definition of a branch: `<block>.<key>`; those of an `each` share one. */
export function pinnedName(block: string, key: string | undefined): string {
  return key === undefined ? block : `${block}.${key}`;
}
