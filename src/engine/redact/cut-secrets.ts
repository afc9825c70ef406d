import type { StoredNode } from '../../cas/node.ts';
import type { Commit } from '../../git/format/objects.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject } from '../../json.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { builtIn, payloadOf } from '../../schema/built-in.ts';
import { readTextAt, readThreadCommit } from '../../thread/thread-commit.ts';

/** A text that ends within a secret, and the same text to the end of that secret. */
export type CutText = { cut: string; whole: string };

/**
 * Finds the summaries of branches that the step of a block has cut within a secret. No rule knows what is left of the secret,
 * and the end of the branch has it whole.
 */
export async function findCutSecrets(
  repository: Repository,
  redactor: Redactor,
  { parents }: Pick<Commit, 'parents'>,
  nodes: Iterable<StoredNode>,
): Promise<CutText[]> {
  const cuts: CutText[] = [];
  for (const node of nodes) {
    if (node.type !== builtIn['thread-step']) continue;
    const { order, branches } = payloadOf(node, 'thread-step').meta;
    if (!Array.isArray(order) || !isJsonObject(branches)) continue;
    for (const [at, key] of order.entries()) {
      const branch = typeof key === 'string' ? branches[key] : undefined;
      const told = isJsonObject(branch) && isJsonObject(branch['end']) ? branch['end']['summary'] : undefined;
      const parent = parents[at + 1];
      if (typeof told !== 'string' || parent === undefined) continue;
      const end = await readThreadCommit(repository, parent);
      if (end.kind !== 'end') continue;
      const summary = await readTextAt(repository, end, 'summary.md');
      const hit = redactor
        .redactText(summary)
        .hits.find(({ start, end: to }) => start < told.length && told.length < to);
      if (hit && summary.startsWith(told)) cuts.push({ cut: told, whole: summary.slice(0, hit.end) });
    }
  }
  return cuts;
}

/** A text in which the secrets that were cut are whole, so that they are found. */
export function withWholeSecrets(text: string, cuts: readonly CutText[]): string {
  let result = text;
  // The text of the step has the summaries without spaces around them. Where a text is whole already, it stays.
  for (const { cut, whole } of cuts) {
    const more = whole.trim();
    result = result
      .split(more)
      .map((part) => part.replaceAll(cut.trim(), () => more))
      .join(more);
  }
  return result;
}
