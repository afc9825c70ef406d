import type { NodeHash } from '../../cas/hash.ts';
import { assertDataError } from '../../thread/thread-errors.ts';
import { ExpressionTimeout } from '../../expression/expression-errors.ts';
import { holds } from '../../expression/evaluation/evaluate.ts';
import type { WorkflowDefinition } from '../../workflow/definition.ts';
import { expressionsOf, lengthOfExpressions, MAX_EXPRESSIONS } from '../../workflow/check/expressions-of.ts';

/** Time for the rules of all that one fetch brings: so much, and this for each decision. A decision takes a millisecond. */
const MAX_MS = 20_000;
const MS_PER_DECISION = 250;

/** The time is up. */
class TooSlow extends Error {}

/** A part of a replay; see {@link TimeBudget.spend}. */
type Decide = (passed: () => void) => Promise<string[]>;

/**
 * Limits the time that workflows from a remote may take while their decisions are replayed: one limit for a whole fetch.
 *
 * A rule that times out is a fault of its workflow here, which is not tried again; in a thread that runs, it suspends the thread.
 */
export class TimeBudget {
  /** Why a workflow is not tried; '' if it is. */
  readonly #workflows = new Map<NodeHash, string>();
  #spentMs = 0;
  #decisions = 0;

  /**
   * Runs decisions of a workflow. Tries the workflow on an empty thread first.
   *
   * @param decide returns what is wrong, a sentence each. Work that evaluates many expressions calls `passed` after each: each
   *   counts as a decision, and `passed` throws when the time is up
   * @returns its result, or that the workflow takes too long
   */
  async spend(hash: NodeHash, definition: WorkflowDefinition, decide: Decide): Promise<string[]> {
    const fault = await this.faultOf(hash, definition);
    return fault === undefined ? this.#timed(hash, decide) : [fault];
  }

  /** Returns a fault if the workflow's rules time out on a thread without steps. */
  async faultOf(hash: NodeHash, definition: WorkflowDefinition): Promise<string | undefined> {
    const known = this.#workflows.get(hash);
    if (known !== undefined) return known === '' ? undefined : known;
    this.#workflows.set(hash, '');
    const length = lengthOfExpressions(definition);
    const [fault] =
      length > MAX_EXPRESSIONS
        ? [`the expressions of its workflow have ${length} characters, more than the ${MAX_EXPRESSIONS} allowed`]
        : await this.#timed(hash, (passed) => tryOut(expressionsOf(definition), passed));
    if (fault !== undefined) this.#workflows.set(hash, fault);
    return fault;
  }

  async #timed(hash: NodeHash, decide: Decide): Promise<string[]> {
    let begun = performance.now();
    const pass = (): void => {
      const now = performance.now();
      this.#spentMs += now - begun;
      this.#decisions += 1;
      begun = now;
      if (this.#spentMs <= MAX_MS + MS_PER_DECISION * this.#decisions) return;
      const seconds = Math.round(this.#spentMs / 1000);
      throw new TooSlow(
        `the ${this.#decisions} decisions that this fetch repeats took ${seconds} s by now, which is too long; fetch it by itself`,
      );
    };
    try {
      const faults = await decide(pass);
      pass();
      return faults;
    } catch (error) {
      if (error instanceof TooSlow) return [error.message];
      const expired = timeoutOf(error);
      if (expired === undefined) throw error;
      this.#spentMs += performance.now() - begun;
      const fault = `its workflow does not come to a decision: ${expired.message}`;
      this.#workflows.set(hash, fault);
      return [fault];
    }
  }
}

/** Evaluates each expression once, on a thread without steps. Other errors may not occur on a thread with steps. */
async function tryOut(expressions: readonly string[], passed: () => void): Promise<string[]> {
  const start = { prompt: '', workflow: '', depth: 0, startedAtMs: 0 };
  const bindings = { meta: {}, steps: [], start, threadId: '' };
  for (const source of expressions) {
    await holds(source, { input: bindings, bindings }).catch((error: unknown) => {
      if (timeoutOf(error) !== undefined) throw error;
      assertDataError(error);
    });
    passed();
  }
  return [];
}

/** Finds a timeout in the chain of causes of an error. */
export function timeoutOf(error: unknown): ExpressionTimeout | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ExpressionTimeout) return cause;
  }
  return undefined;
}
