import { UwfError } from '../errors.ts';
import type { StepsSeen } from '../expression/steps-seen.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import type { StepView } from '../moderator/decision.ts';

/** More of a thread's steps would have to be held than is held of a thread that comes from elsewhere. */
export class HistoryTooLarge extends UwfError {
  readonly maxBytes: number;
  constructor(maxBytes: number) {
    super(`what its rules look at of its steps takes more than ${maxBytes} bytes of memory`, {
      code: 'history-too-large',
      kind: 'data',
      hint: 'rules that look at the newest step, or at less of older ones, can be checked on threads of any length',
    });
    this.maxBytes = maxBytes;
  }
}

/** A step that says nothing. */
const BLANK: StepView = {
  role: '',
  meta: {},
  output: {},
  text: '',
  hash: '',
  status: null,
  agent: '',
  usage: null,
  startedAtMs: 0,
  completedAtMs: 0,
};

/** The steps of a thread as far as its rules can see them; grows with the thread. */
export class StepHistory {
  readonly #seen: StepsSeen;
  readonly #maxBytes: number;
  readonly #older: StepView[] = [];
  /** Steps of which only the role is seen, and those of which nothing is: one stands for all. */
  readonly #shared = new Map<string, StepView>();
  #newest: StepView[] = [];
  #bytes = 0;

  /** @param maxBytes how much memory all steps but the newest may take, roughly */
  constructor(seen: StepsSeen, maxBytes: number) {
    this.#seen = seen;
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes in the next step.
   * @throws {HistoryTooLarge} if that is more than may be held
   */
  add(step: StepView): void {
    const isOver = this.#newest.length >= Math.max(1, this.#seen.newest);
    const older = isOver ? this.#newest.slice(0, 1) : [];
    this.#newest = [...this.#newest.slice(older.length), step];
    for (const view of older) this.#putAway(view);
    const bytes = this.#newest.slice(0, -1).reduce((sum, view) => sum + bytesOf(view), this.#bytes);
    if (bytes > this.#maxBytes) throw new HistoryTooLarge(this.#maxBytes);
  }

  /** The steps for the next decision, oldest first; a list of its own. */
  list(): StepView[] {
    return [...this.#older, ...this.#newest];
  }

  #putAway(view: StepView): void {
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

/** A step of which only some members are left. */
function narrowed(view: StepView, members: ReadonlySet<string>): StepView {
  return { ...BLANK, ...Object.fromEntries(Object.entries(view).filter(([member]) => members.has(member))) };
}

const POINTER = 16;
const VALUE = 16;
const CONTAINER = 64;

/** What a value takes in V8's heap, and again as text on its way to another process: within a factor of two. */
function bytesOf(value: JsonValue | undefined): number {
  if (typeof value === 'string') return VALUE + 2 * value.length;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + bytesOf(item), CONTAINER);
  if (!isJsonObject(value)) return VALUE;
  return Object.entries(value).reduce((sum, [key, item]) => sum + key.length + bytesOf(item), CONTAINER);
}
