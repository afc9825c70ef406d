import type { JsonObject } from '../../json.ts';
import { DIALECT } from './schema-parts.ts';

/** The type of all schema nodes, and its own. */
export const metaSchema: JsonObject = {
  $schema: DIALECT,
  title: 'meta-schema',
  description: 'A JSON Schema (draft 2020-12) that is the type of other nodes. It is its own type.',
  $ref: DIALECT,
};
