import type { ObjectId } from '../object-id.ts';
import type { ObjectReader } from '../read.ts';
import type { RefName } from '../ref-store.ts';
import type { PushEdit, PushRequest, PushResult } from '../remote.ts';
import { isBehind } from './is-behind.ts';

/** What one edit comes to, seeing where the remote's refs are. */
export type PlannedEdit =
  | { kind: 'settled'; result: PushResult }
  /** `before` is where the remote has to have it still when the edit is made. */
  | { kind: 'send'; edit: PushEdit; before: ObjectId | null };

/** An edit that is to be made. */
export type SentEdit = Extract<PlannedEdit, { kind: 'send' }>;

/**
 * Decides what is to be sent, and settles what is so already or cannot be.
 *
 * @param there the remote's refs
 * @throws {ObjectMissing} / {CorruptObject} if a commit that is to be pushed cannot be read
 */
export async function planPush(
  objects: ObjectReader,
  { edits, isForward = false }: Pick<PushRequest, 'edits' | 'isForward'>,
  there: ReadonlyMap<string, ObjectId>,
): Promise<PlannedEdit[]> {
  const follows = async (value: ObjectId, { expected }: PushEdit, before: ObjectId): Promise<boolean> =>
    (isForward && expected !== undefined) || isBehind(objects, before, value);
  const planned: PlannedEdit[] = [];
  for (const edit of edits) planned.push(await planEdit(edit, there.get(edit.name) ?? null, follows));
  return planned;
}

/** Tells whether the value of an edit follows what the remote has. */
type Follows = (value: ObjectId, edit: PushEdit, before: ObjectId) => Promise<boolean>;

async function planEdit(edit: PushEdit, before: ObjectId | null, follows: Follows): Promise<PlannedEdit> {
  const { name, value, expected } = edit;
  const moved = (reason: string): PlannedEdit => ({ kind: 'settled', result: { name, outcome: 'moved', reason } });
  if (before === value && value !== null) return { kind: 'settled', result: { name, outcome: 'unchanged' } };
  if (value === null && before === null) return moved('the remote does not have it');
  if (value === null && expected === undefined) return moved('it was not said where it is expected to be');
  if (expected !== undefined && expected !== before) {
    return moved(before === null ? 'the remote does not have it' : `the remote has it at ${before}`);
  }
  if (value !== null && before !== null && !(await follows(value, edit, before))) {
    return moved(`the remote has it at ${before}, which this does not follow`);
  }
  return { kind: 'send', edit, before };
}

/** The edits that are to be made, and whether one that cannot be keeps them all from it where a push is atomic. */
export function sentOf(planned: readonly PlannedEdit[]): { sent: SentEdit[]; isStopped: boolean } {
  return {
    sent: planned.filter((plan) => plan.kind === 'send'),
    isStopped: planned.some((plan) => plan.kind === 'settled' && plan.result.outcome === 'moved'),
  };
}

/** Puts the results of what was sent among those of what was not, in the order of the edits. */
export function inOrder(planned: readonly PlannedEdit[], results: readonly PushResult[]): PushResult[] {
  const rest = results.values();
  return planned.flatMap((plan) => {
    if (plan.kind === 'settled') return [plan.result];
    const next = rest.next();
    return next.done === true ? [] : [next.value];
  });
}

/** The result of an edit that was not made because another one of the same push could not be. */
export function undone(name: RefName): PushResult {
  return { name, outcome: 'undone', reason: 'another change of the same push could not be made' };
}
