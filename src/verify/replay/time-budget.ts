import type { NodeHash } from '../../cas/hash.ts';
import { assertDataError } from '../../thread/thread-errors.ts';
import { ExpressionTimeout } from '../../expression/expression-errors.ts';
import { holds } from '../../expression/evaluation/evaluate.ts';
import type { WorkflowDefinition } from '../../workflow/definition.ts';
import { expressionsOf, lengthOfExpressions, MAX_EXPRESSIONS } from '../../workflow/check/expressions-of.ts';

/** A workflow that took {@link MAX_TOTAL_MS} in all is given up if its decisions take longer than this on average. */
const MAX_AVERAGE_MS = 250;
const MAX_TOTAL_MS = 20_000;
/** After this many workflows ran out of time, new ones are refused. */
const MAX_EXHAUSTED = 20;

/** The decisions of a workflow took too long on average. */
class TooSlow extends Error {}

/** A part of a replay; see {@link TimeBudget.spend}. */
type Decide = (passed: () => void) => Promise<string[]>;

type Account = { spentMs: number; decisions: number; exhausted?: string };

/**
 * Limits the time that workflows from a remote may take while their decisions are replayed.
 *
 * A rule that times out is a fault of the workflow here; in a thread that runs, it suspends the thread. A workflow that ran
 * out of time is not tried again.
 */
export class TimeBudget {
  readonly #accounts = new Map<NodeHash, Account>();
  #exhausted = 0;

  /**
   * Runs decisions of a workflow. Tries the workflow on an empty thread first.
   *
   * @param decide returns what is wrong, a sentence each. Work that evaluates many expressions calls `passed` after each: each
   *   counts as a decision, and `passed` throws when the time is up
   * @returns its result, or that the workflow takes too long
   */
  async spend(hash: NodeHash, definition: WorkflowDefinition, decide: Decide): Promise<string[]> {
    const account = this.#accounts.get(hash) ?? (await this.#open(hash, definition));
    if (account.exhausted !== undefined) return [account.exhausted];
    let begun = performance.now();
    const passed = (): void => {
      const now = performance.now();
      account.spentMs += now - begun;
      account.decisions += 1;
      begun = now;
      const averageMs = account.spentMs / account.decisions;
      if (account.spentMs > MAX_TOTAL_MS && averageMs > MAX_AVERAGE_MS) {
        throw new TooSlow(`its decisions take ${Math.round(averageMs)} ms each`);
      }
    };
    try {
      const faults = await decide(passed);
      passed();
      return faults;
    } catch (error) {
      const expired = error instanceof TooSlow ? error : timeoutOf(error);
      if (expired === undefined) throw error;
      return [this.#exhaust(account, expired.message)];
    }
  }

  /** Returns a fault if the workflow's rules time out on a thread without steps. */
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

/** Evaluates each expression once, on a thread without steps. Other errors may not occur on a thread with steps. */
async function tryOut(expressions: readonly string[]): Promise<ExpressionTimeout | undefined> {
  const start = { prompt: '', workflow: '', depth: 0, startedAtMs: 0 };
  const bindings = { meta: {}, steps: [], start, threadId: '' };
  for (const source of expressions) {
    try {
      await holds(source, { input: bindings, bindings });
    } catch (error) {
      const expired = timeoutOf(error);
      if (expired !== undefined) return expired;
      assertDataError(error);
    }
  }
  return undefined;
}

/** Finds a timeout in the chain of causes of an error. */
export function timeoutOf(error: unknown): ExpressionTimeout | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ExpressionTimeout) return cause;
  }
  return undefined;
}
