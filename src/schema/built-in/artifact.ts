import type { ObjectId } from '../../git/format/object-id.ts';
import type { JsonObject } from '../../json.ts';
import { builtInObject, objectId, anyText, word } from './schema-parts.ts';

/** A git object that a thread keeps: a commit of the code, a folder, a file. */
export type Artifact = {
  kind: 'commit' | 'tree' | 'blob';
  oid: ObjectId;
  /** Where it lies in the repository's work tree, if it does. */
  path?: string;
  /** For people. */
  title: string;
};

export const artifactSchema: JsonObject = builtInObject(
  'artifact',
  'A commit, folder or file of the repository that a thread keeps.',
  { kind: { enum: ['commit', 'tree', 'blob'] }, oid: objectId, path: word, title: anyText },
  ['path'],
);
