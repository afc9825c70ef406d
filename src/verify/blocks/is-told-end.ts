import { isDeepStrictEqual } from 'node:util';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { marks } from '../../redaction/redactor.ts';
import { type BranchEnd, readBranchEnd } from '../../thread/step-view.ts';
import { readThreadCommit, readTextAt } from '../../thread/thread-commit.ts';

/**
 * Tells whether the step of a block records the end of a branch correctly.
 *
 * A redaction changes the lengths by which a summary is cut and a meta is left out. If the end or its record has marks of a
 * redaction, the summary may end at another place, and the meta may be there or not.
 * @param end the commit of the end
 * @param is how the branch ended, by {@link readBranchEnd}
 */
export async function isToldEnd(
  repository: Repository,
  end: ObjectId,
  told: JsonValue | undefined,
  is: BranchEnd,
): Promise<boolean> {
  if (isDeepStrictEqual(told, is)) return true;
  if (!isJsonObject(told) || !isJsonObject(told['end'])) return false;
  const commit = await readThreadCommit(repository, end);
  const whole = await readBranchEnd(repository, end, 1);
  const text = await readTextAt(repository, commit, 'summary.md');
  if (!hasMarks(told) && !hasMarks({ ...whole, text })) return false;
  const { summary } = told['end'];
  if (typeof summary !== 'string' || !text.startsWith(summary)) return false;
  const meta = told['meta'] === null ? null : whole.meta;
  return isDeepStrictEqual(told, { ...whole, meta, end: { ...whole.end, summary } });
}

function hasMarks(value: JsonValue): boolean {
  return JSON.stringify(value).search(marks) !== -1;
}
