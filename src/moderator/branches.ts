import { UwfError } from '../errors.ts';
import { seenByExpression } from '../expression/analysis/compile-expression.ts';
import { evaluate } from '../expression/evaluation/evaluate.ts';
import { renderTemplate, seenByTemplate } from '../expression/template/template.ts';
import { type JsonObject, type JsonValue, setMember } from '../json.ts';
import { isWellFormed } from '../text/wording.ts';
import type { BranchEnd } from '../thread/step-view.ts';
import {
  type BlockDefinition,
  type BranchDefinition,
  type EachDefinition,
  FAILED,
  isExpression,
  JOINED,
  MAX_BRANCHES,
} from '../workflow/definition.ts';
import { BlockFailed, type DecisionContext, ruleScope, stepsSeenBy, templateScope } from './decide.ts';

export type Branch = { key: string; prompt: string };

/** The longest key, in UTF-16 units. */
const MAX_KEY = 200;

/**
 * Lists the branches of a block, in the order of their keys or, of an `each`, in the order of the list.
 *
 * A pure function, as `decide` is: verification lists them again.
 * @param prompt the prompt of branches that have none of their own
 * @param evaluated is called after each expression and each prompt; it can throw to end the work
 * @throws {BlockFailed} if an expression or a prompt has no usable result, a key comes twice, or there are too many
 */
export async function listBranches(
  name: string,
  { branches = {}, each }: BlockDefinition,
  context: DecisionContext,
  prompt: string,
  evaluated: () => void = () => {},
): Promise<Branch[]> {
  const listing = new Listing(name, context, prompt, evaluated);
  if (each !== undefined) return listing.ofEach(each);
  const keys = Object.keys(branches).toSorted();
  return Promise.all(keys.map((key) => listing.branch(branches[key] ?? { role: key }, key, {})));
}

class Listing {
  readonly #block: string;
  readonly #context: DecisionContext;
  readonly #prompt: string;
  readonly #evaluated: () => void;

  constructor(block: string, context: DecisionContext, prompt: string, evaluated: () => void) {
    this.#block = block;
    this.#context = context;
    this.#prompt = prompt;
    this.#evaluated = evaluated;
  }

  async ofEach(each: EachDefinition): Promise<Branch[]> {
    const items = await this.#items(each);
    const known = new Set<string>();
    const branches: Branch[] = [];
    for (const [place, item] of items.entries()) {
      const variables: JsonObject = {};
      setMember(variables, each.as, item);
      const key = await this.#key(each, variables, place);
      if (known.has(key)) throw this.#failed('key', each.key, `it gives '${key}' twice`);
      known.add(key);
      branches.push(await this.branch(each, key, variables));
    }
    return branches;
  }

  async branch({ prompt }: BranchDefinition, key: string, variables: JsonObject): Promise<Branch> {
    if (prompt === undefined) return { key, prompt: this.#prompt };
    const text = await this.#blaming('prompt', prompt, async () => {
      const { steps } = await stepsSeenBy(this.#context.steps, seenByTemplate(prompt));
      return renderTemplate(prompt, { ...templateScope(this.#context, steps), key, ...variables });
    });
    if (text.trim() === '') throw this.#failed('prompt', prompt, `it renders to nothing for '${key}'`);
    return { key, prompt: text };
  }

  async #items({ over }: EachDefinition): Promise<readonly JsonValue[]> {
    const items = await this.#blaming('over', over, async () => {
      const seen = await stepsSeenBy(this.#context.steps, await seenByExpression(over));
      return evaluate(over, ruleScope(this.#context, seen));
    });
    if (!Array.isArray(items)) {
      const what =
        items === undefined
          ? 'it has no value; if there may be none, write [ … ] around it, which gives an empty list'
          : 'its value is no list; write [ … ] around it, which makes one of a single value';
      throw this.#failed('over', over, what);
    }
    if (items.length > MAX_BRANCHES) {
      throw this.#failed(
        'over',
        over,
        `its list has ${items.length} items, and a block has at most ${MAX_BRANCHES} branches`,
      );
    }
    return items;
  }

  async #key({ key: expression }: EachDefinition, variables: JsonObject, place: number): Promise<string> {
    const scope = { input: variables, bindings: variables };
    const value = await this.#blaming('key', expression, () => evaluate(expression, scope));
    const key = typeof value === 'number' ? String(value) : value;
    const isKey =
      typeof key === 'string' && key !== '' && key.length <= MAX_KEY && !/\p{Cc}/u.test(key) && isWellFormed(key);
    if (isKey && key !== '__proto__') return key;
    const what = `for item ${place + 1} it gives no text of 1 to ${MAX_KEY} characters, and no number`;
    throw this.#failed('key', expression, what);
  }

  async #blaming<T>(part: string, expression: string, run: () => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await run();
    } catch (error) {
      if (error instanceof UwfError && error.kind === 'data')
        throw this.#failed(part, expression, error.message, error);
      throw error;
    }
    this.#evaluated();
    return result;
  }

  #failed(part: string, expression: string, reason: string, cause?: unknown): BlockFailed {
    return new BlockFailed(this.#block, part, expression, reason, cause);
  }
}

export type TakenBranch = BranchEnd & { key: string };

/** The state of a join: open, or over with the `$status` of the block's step. */
export type JoinVerdict = { kind: 'open' } | { kind: 'over'; status: string; isJoined: boolean };

/**
 * Judges the join of a block over the branches that have ended, in the order in which they were taken in.
 *
 * A pure function: verification calls it again for each prefix of that order.
 * @param total the number of the block's branches
 * @throws {BlockFailed} if the expression of the join has no usable result
 */
export async function judgeJoin(
  name: string,
  block: Pick<BlockDefinition, 'join' | 'onFailure'>,
  taken: readonly TakenBranch[],
  total: number,
): Promise<JoinVerdict> {
  const completed = taken.filter(isCompleted).length;
  if (isExpression(block.join)) {
    const status = await statusBy(name, block.join, taken, total);
    if (status !== undefined) return { kind: 'over', status, isJoined: true };
  }
  return judgeCounts(block, { completed, taken: taken.length, total });
}

export function isCompleted({ end }: Pick<TakenBranch, 'end'>): boolean {
  return end.outcome === 'completed';
}

/** Judges a join by numbers alone. For a join with an expression, numbers can only show that it failed. */
export function judgeCounts(
  { join, onFailure }: Pick<BlockDefinition, 'join' | 'onFailure'>,
  { completed, taken, total }: { completed: number; taken: number; total: number },
): JoinVerdict {
  const wanted = wantedNumber(join, total);
  if (wanted !== undefined && completed >= wanted) return { kind: 'over', status: JOINED, isJoined: true };
  const open = total - taken;
  const isLost = wanted === undefined ? completed < taken : completed + open < wanted;
  const isOver = open === 0 || (wanted ?? 0) > total || (isLost && onFailure === 'cancel');
  return isOver ? { kind: 'over', status: FAILED, isJoined: false } : { kind: 'open' };
}

/** How many branches have to complete; `undefined` if an expression decides. */
function wantedNumber(join: BlockDefinition['join'], total: number): number | undefined {
  if (typeof join === 'object') return join.atLeast;
  if (join === 'all') return total;
  return join === 'any' ? 1 : undefined;
}

async function statusBy(
  name: string,
  join: string,
  taken: readonly TakenBranch[],
  total: number,
): Promise<string | undefined> {
  const bindings = { branches: taken.map((branch) => ({ ...branch })), total };
  let value: JsonValue | undefined;
  try {
    value = await evaluate(join, { input: bindings, bindings });
  } catch (error) {
    if (error instanceof UwfError && error.kind === 'data')
      throw new BlockFailed(name, 'join', join, error.message, error);
    throw error;
  }
  if (value === true) return JOINED;
  if (value === undefined || value === null || value === false || value === '') return undefined;
  if (typeof value === 'string' && !value.startsWith('$')) return value;
  throw new BlockFailed(name, 'join', join, 'its value is neither true or false nor the text of a $status');
}
