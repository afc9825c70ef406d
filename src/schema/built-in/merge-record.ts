import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import { arrayOf, isString, objectOf, stringThat, type Shape } from '../../shape.ts';

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

const isId = stringThat(isObjectId);

/** Tells whether `merge` of a step's node, whose schema takes any object, is a record that uwf wrote. */
export const isMergeRecord: Shape<MergeRecord> = objectOf<MergeRecord>({
  base: isId,
  branches: arrayOf(objectOf<MergeRecord['branches'][number]>({ key: isString, commit: isId })),
  git: isString,
  isRepeatable: (value): value is boolean => typeof value === 'boolean',
});
