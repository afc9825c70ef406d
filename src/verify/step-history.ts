import type { NodeHash } from '../cas/hash.ts';
import { UwfError } from '../errors.ts';
import type { StepsSeen } from '../expression/analysis/steps-seen.ts';
import { holds } from '../expression/evaluation/evaluate.ts';
import type { RoleSeen } from '../expression/evaluation/scope.ts';
import { ExpressionTimeout } from '../expression/expression-errors.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import type { PastSteps } from '../moderator/decide.ts';
import { BLANK_STEP, standIns, type StepView } from '../thread/step-view.ts';
import { assertDataError } from '../thread/thread-errors.ts';
import {
  expressionsOf,
  lengthOfExpressions,
  MAX_EXPRESSIONS,
  type WorkflowDefinition,
} from '../workflow/definition.ts';

/** The steps of a thread, reduced to what its rules can see. */
export class StepHistory {
  readonly #seen: StepsSeen;
  readonly #maxBytes: number;
  readonly #older: StepView[] = [];
  /** Steps of which rules see only the role, or nothing, are shared objects. */
  readonly #shared = new Map<string, StepView>();
  readonly #roles = new Map<string, RoleSeen>();
  #newest: StepView[] = [];
  #bytes = 0;

  /** @param maxBytes the memory that all steps but the newest may take, approximately */
  constructor(seen: StepsSeen, maxBytes: number) {
    this.#seen = seen;
    this.#maxBytes = maxBytes;
  }

  /**
   * Begins with steps that were counted before.
   * @param roles what rules can see of them by their roles
   * @param newest the newest ones, as many as rules can see
   */
  begin(roles: ReadonlyMap<string, RoleSeen>, newest: readonly StepView[]): void {
    this.#newest = [...newest];
    for (const [role, seen] of roles) {
      this.#roles.set(role, seen);
      if (this.#seen.ends && seen.visits > 1) this.#bytes += bytesOf(seen.last);
    }
  }

  get lastText(): string | undefined {
    return this.#newest.at(-1)?.text;
  }

  /**
   * Adds the next step.
   * @throws {UwfError} `history-too-large` if the steps take too much memory
   */
  add(step: StepView): void {
    const isOver = this.#newest.length >= Math.max(1, this.#seen.newest);
    const older = isOver ? this.#newest.slice(0, 1) : [];
    this.#newest = [...this.#newest.slice(older.length), step];
    for (const view of older) this.#reduce(view);
    const { role, meta } = step;
    const before = this.#roles.get(role);
    const visits = (before?.visits ?? 0) + 1;
    this.#roles.set(role, this.#seen.ends ? { visits, first: before?.first ?? meta, last: meta } : { visits });
    if (this.#seen.ends && before !== undefined) {
      this.#bytes += bytesOf(meta) - (before.visits === 1 ? 0 : bytesOf(before.last));
    }
    const bytes = this.#newest.slice(0, -1).reduce((sum, view) => sum + bytesOf(view), this.#bytes);
    if (bytes > this.#maxBytes) {
      throw new UwfError(`what its rules look at of its steps takes more than ${this.#maxBytes} bytes of memory`, {
        code: 'history-too-large',
        kind: 'data',
        hint: 'rules that look at the newest step, or at less of older ones, can be checked on threads of any length',
        facts: { maxBytes: this.#maxBytes },
      });
    }
  }

  steps(): PastSteps {
    const [older, newest, roles] = [this.#older.length, this.#newest, new Map(this.#roles)];
    return {
      lastRole: newest.at(-1)?.role,
      seenBy: async (seen) => {
        if (seen.members !== undefined) return { steps: [...this.#older.slice(0, older), ...newest] };
        const steps = seen.newest === 0 ? [] : newest.slice(-seen.newest);
        const counted = seen.counts ? [...standIns(roles, steps), ...steps] : steps;
        return { steps: counted, ...((seen.visits || seen.ends) && { roles }) };
      },
    };
  }

  #reduce(view: StepView): void {
    const { members } = this.#seen;
    if (members === undefined) return;
    const shared = [...members].every((member) => member === 'role');
    const key = members.has('role') ? view.role : '';
    const known = shared ? this.#shared.get(key) : undefined;
    const kept = known ?? narrowed(view, members);
    if (shared) this.#shared.set(key, kept);
    this.#older.push(kept);
    this.#bytes += POINTER + (known === undefined ? bytesOf(kept) : 0);
  }
}

function narrowed(view: StepView, members: ReadonlySet<string>): StepView {
  return { ...BLANK_STEP, ...Object.fromEntries(Object.entries(view).filter(([member]) => members.has(member))) };
}

const POINTER = 16;
const VALUE = 16;
const CONTAINER = 64;

/** The size of a value in V8's heap, and as text for another process: within a factor of two. */
function bytesOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return VALUE + 2 * value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + bytesOf(item), CONTAINER);
  if (!isJsonObject(value)) return VALUE;
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + bytesOf(item), CONTAINER);
}

/** Time for the rules of all that one fetch brings: so much, and this for each decision. A decision takes a millisecond. */
const MAX_MS = 20_000;
const MS_PER_DECISION = 250;

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
