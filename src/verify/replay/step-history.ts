import { UwfError } from '../../errors.ts';
import type { StepsSeen } from '../../expression/analysis/steps-seen.ts';
import type { RoleSeen } from '../../expression/evaluation/scope.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { PastSteps } from '../../moderator/decision.ts';
import { BLANK_STEP, standIns, type StepView } from '../../thread/step-view.ts';

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

  /** What the newest step said. */
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

  /** The steps for the next decision. */
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

/** Keeps only some members of a step. */
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
