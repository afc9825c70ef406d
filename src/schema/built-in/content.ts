import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { builtInObject, refList, anyText } from './schema-parts.ts';

/** A text, stored as the text itself where it has no refs. */
export type Content = {
  text: string;
  /** Nodes that came with the text: what was put while it was made. Absent when there are none. */
  refs?: NodeHash[];
};

export const contentSchema: JsonObject = builtInObject(
  'content',
  'A text, and the nodes that came with it.',
  { text: anyText, refs: { ...refList(), minItems: 1 } },
  ['refs'],
);
