import type { ObjectId } from '../../git/format/object-id.ts';
import type { JsonObject } from '../../json.ts';
import { closedObject, objectId, word } from './schema-parts.ts';

/** What the files of a block's step were merged from (`merge` of its node). They are `workspace` of the step. */
export type MergeRecord = {
  /** The commit that all branches began at, and that they were merged into. */
  base: ObjectId;
  /** The newest snapshots of the branches, in the order in which they were merged. */
  branches: { key: string; commit: ObjectId }[];
  /** The version of git: `2.39.5`. */
  git: string;
  /** False if a merge driver of the machine had a part. */
  isRepeatable: boolean;
};

export const mergeRecord: JsonObject = closedObject({
  base: objectId,
  branches: { type: 'array', items: closedObject({ key: word, commit: objectId }) },
  git: word,
  isRepeatable: { type: 'boolean' },
});
