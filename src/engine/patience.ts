import type { NodeHash } from '../cas/hash.ts';
import { UwfError } from '../errors.ts';
import { ExpressionTimeout } from '../expression/expression-errors.ts';
import { holds } from '../expression/evaluate.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { expressionsOf, lengthOfExpressions, MAX_EXPRESSIONS } from '../workflow/expressions-of.ts';

/** A workflow whose decisions take longer than this, on average, is not waited for once it has cost {@link MAX_SLOW_MS}. */
const SLOW_MS = 250;
const MAX_SLOW_MS = 20_000;
/** How many workflows may run out of time before new ones are no longer tried. */
const MAX_EXHAUSTED = 20;

type Account = { spentMs: number; decisions: number; exhausted?: string };

/**
 * How long the workflows of others are waited for while their decisions are made again.
 *
 * A rule that does not end within its box is a fault of the workflow and not, as in a thread of one's own, a reason for it to
 * end as failed; and no workflow is given a second chance to hold things up.
 */
export class Patience {
  readonly #accounts = new Map<NodeHash, Account>();
  #exhausted = 0;

  /**
   * Makes decisions of a workflow, which is tried on an empty thread first.
   *
   * @param judge says what is wrong, a sentence each
   * @returns what it says, or that the workflow takes too long
   */
  async spend(hash: NodeHash, definition: WorkflowDefinition, judge: () => Promise<string[]>): Promise<string[]> {
    const account = this.#accounts.get(hash) ?? (await this.#open(hash, definition));
    if (account.exhausted !== undefined) return [account.exhausted];
    const begun = performance.now();
    let faults: string[];
    try {
      faults = await judge();
    } catch (error) {
      const expired = timeoutOf(error);
      if (expired === undefined) throw error;
      return [this.#exhaust(account, expired.message)];
    }
    account.spentMs += performance.now() - begun;
    account.decisions += 1;
    const { spentMs, decisions } = account;
    if (spentMs > MAX_SLOW_MS && spentMs / decisions > SLOW_MS) {
      return [this.#exhaust(account, `its decisions take ${Math.round(spentMs / decisions)} ms each`)];
    }
    return faults;
  }

  /** Says of a workflow that its rules do not end, where that shows on a thread without steps; `undefined` if it does not. */
  async faultOf(hash: NodeHash, definition: WorkflowDefinition): Promise<string | undefined> {
    return (this.#accounts.get(hash) ?? (await this.#open(hash, definition))).exhausted;
  }

  async #open(hash: NodeHash, definition: WorkflowDefinition): Promise<Account> {
    const account: Account = { spentMs: 0, decisions: 0 };
    this.#accounts.set(hash, account);
    if (this.#exhausted >= MAX_EXHAUSTED) {
      account.exhausted = `${MAX_EXHAUSTED} workflows ran out of time before this one, so that it was not tried; fetch it by itself`;
      return account;
    }
    const length = lengthOfExpressions(definition);
    if (length > MAX_EXPRESSIONS) {
      account.exhausted = `the expressions of its workflow have ${length} characters, more than the ${MAX_EXPRESSIONS} allowed`;
      return account;
    }
    const expired = await tryOut(expressionsOf(definition));
    if (expired !== undefined) this.#exhaust(account, expired.message);
    return account;
  }

  #exhaust(account: Account, why: string): string {
    this.#exhausted += 1;
    account.exhausted = `its workflow does not come to a decision: ${why}`;
    return account.exhausted;
  }
}

/** Evaluates each once, over a thread without steps. What fails otherwise may be right with steps. */
async function tryOut(expressions: readonly string[]): Promise<ExpressionTimeout | undefined> {
  const start = { prompt: '', workflow: '', depth: 0, startedAtMs: 0 };
  const bindings = { meta: {}, steps: [], start, threadId: '' };
  for (const source of expressions) {
    try {
      await holds(source, { input: bindings, bindings });
    } catch (error) {
      const expired = timeoutOf(error);
      if (expired !== undefined) return expired;
      if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
    }
  }
  return undefined;
}

/** The time-out behind an error, however often it was told on. */
export function timeoutOf(error: unknown): ExpressionTimeout | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ExpressionTimeout) return cause;
  }
  return undefined;
}
