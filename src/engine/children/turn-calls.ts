import { UwfError } from '../../errors.ts';
import type { AgentRequest, ChildOutcome } from '../../agent/contract.ts';
import { parseNodeHash, type NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { isWellFormed } from '../../text/wording.ts';
import { type ChildThread, findCalledNow, findCalledSince } from '../../thread/find-children.ts';
import { callIdFor, type CallPlace } from '../../thread/new-thread-id.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { contentNode } from '../../thread/draft-commit.ts';
import { committedAt, stateCommit, type ThreadState } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ChildRequest, EngineContext } from '../engine-context.ts';
import { KeyTaken } from '../engine-errors.ts';

type CallRequest = Parameters<AgentRequest['runChild']>[0] & Pick<ChildRequest, 'branch' | 'isLeft'>;

/** A child thread's end, and its commit: an extra parent of the step that called the child. */
export type ChildEnd = { hash: NodeHash; commit: ObjectId };

const LONGEST_KEY = 1000;

const storedHere = new WeakSet<ThreadState>();

/** Notes that this process has just stored the last step of a thread, from which no child was called yet. */
export function markStoredHere(state: ThreadState): void {
  storedHere.add(state);
}

/** Tells whether no turn can have been tried from here: the last step was stored by this process, just now. */
export function isStoredHere(state: ThreadState): boolean {
  return storedHere.has(state);
}

/**
 * The child threads of one turn of a role, over all its tries.
 *
 * Each call has a key, from which the child's id follows: the agent's own key, else the workflow, the prompt, and how many
 * calls of this try had the same before. The same call in another try, or in another process after a crash or a
 * suspension, therefore leads to the same child; calls of one try with one key are one call.
 */
export class TurnCalls {
  readonly #engine: EngineContext;
  readonly #caller: ThreadState;
  readonly #role: string;
  readonly #id: ThreadId;
  /** True if no turn from here can have been tried before. */
  readonly #isFirst: boolean;
  readonly #stop = new AbortController();
  readonly #running = new Map<ThreadId, { request: CallRequest; outcome: Promise<ChildOutcome> }>();
  readonly #ends = new Map<ThreadId, ChildEnd>();
  readonly #stopped = new Set<ThreadId>();
  readonly #elsewhere = new Set<ThreadId>();
  readonly #asked = new Set<ThreadId>();
  readonly #ordinals = new Map<string, number>();
  #hasCalled = false;

  /**
   * @param caller the thread that the turn is taken on, as it was before the turn
   * @param id under which it calls: its own, or that of the fork that is to keep the turn
   */
  constructor(engine: EngineContext, caller: ThreadState, role: string, id: ThreadId) {
    this.#engine = engine;
    this.#caller = caller;
    this.#role = role;
    this.#id = id;
    this.#isFirst = isStoredHere(caller);
  }

  /** Begins a try: its calls are counted anew. */
  startTry(): void {
    this.#asked.clear();
    this.#ordinals.clear();
  }

  /** Starts the child thread of a call, or goes on with the one that the call has; see `AgentRequest.runChild`. */
  run(given: CallRequest): Promise<ChildOutcome> {
    const request = this.#clean(given);
    const outcome = this.#run(request);
    // An agent that does not wait for the outcome does not hear that the child was stopped.
    outcome.catch(() => {});
    return outcome;
  }

  /** Takes secrets out of a call before the child's id follows from it: the child stores what it is told. */
  #clean({ workflow, prompt, signal, key, branch, isLeft }: CallRequest): CallRequest {
    const redaction = this.#engine.redaction();
    const clean = { workflow, prompt: redaction.text(prompt), signal, branch, isLeft };
    return key === undefined ? clean : { ...clean, key: redaction.text(key) };
  }

  async #run(request: CallRequest): Promise<ChildOutcome> {
    const call = this.#workingPlace(request);
    const id = callIdFor(call);
    this.#asked.add(id);
    this.#hasCalled = true;
    const running = this.#running.get(id);
    if (running !== undefined) {
      const { workflow, prompt } = running.request;
      if (workflow !== request.workflow || prompt !== request.prompt) throw new KeyTaken(call.key, id);
      return running.outcome;
    }
    const outcome = this.#engine.outsideSlot(() => this.#answer(id, call, request));
    this.#running.set(id, { request, outcome });
    try {
      return await outcome;
    } finally {
      this.#running.delete(id);
    }
  }

  #workingPlace({ key: own, workflow, prompt, branch }: CallRequest): CallPlace {
    if (own !== undefined && (own === '' || own.length > LONGEST_KEY || !isWellFormed(own))) {
      const what = `a key of a child thread is a text of 1 to ${LONGEST_KEY} characters, in well-formed Unicode`;
      throw new UwfError(what, { code: 'invalid-call-key', kind: 'data' });
    }
    const key = own ?? `${workflow} ${contentNode(prompt).hash}`;
    const ordinal = own === undefined ? (this.#ordinals.get(key) ?? 0) : 0;
    if (own === undefined) this.#ordinals.set(key, ordinal + 1);
    const state = committedAt(stateCommit(this.#caller));
    // A block stands where a role stands, so its name is the role that calls.
    return { thread: this.#id, state, role: this.#role, key, ordinal, block: branch && this.#role };
  }

  async #answer(id: ThreadId, call: CallPlace, request: CallRequest): Promise<ChildOutcome> {
    const { key, workflow, prompt, signal, branch, isLeft } = request;
    const { outcome, head, isStopped, isElsewhere } = await this.#engine.runChild(this.#engine, this.#caller, {
      call,
      isOwnKey: key !== undefined,
      branch,
      isLeft,
      workflow,
      prompt,
      signal: AbortSignal.any([signal, this.#stop.signal]),
    });
    if (outcome.kind === 'ended') this.#ends.set(id, { hash: parseNodeHash(outcome.endHash), commit: head });
    if (isStopped) this.#stopped.add(id);
    if (isElsewhere) this.#elsewhere.add(id);
    return outcome;
  }

  /** The id of the child that a call leads to, whether or not it was called. */
  childOf(request: CallRequest): ThreadId {
    return callIdFor(this.#workingPlace(this.#clean(request)));
  }

  /** The end of a child that has ended in this turn. */
  endOf(id: ThreadId): ChildEnd | undefined {
    return this.#ends.get(id);
  }

  /** Whether a child of this turn was left to another machine. */
  isElsewhere(id: ThreadId): boolean {
    return this.#elsewhere.has(id);
  }

  /** Whether a person has stopped a child of this turn, and it alone. */
  wasStopped(id: ThreadId): boolean {
    return this.#stopped.has(id);
  }

  /** Stops the children that the agent has not waited for. They keep what they have stored. */
  async close(): Promise<void> {
    this.#stop.abort(new Error('the turn that asked for it is over'));
    await Promise.allSettled([...this.#running.values()].map(({ outcome }) => outcome));
  }

  /** Says which of the ends that a reply names are none of children called from here, a sentence each. */
  async findFaults(ends: readonly string[]): Promise<string[]> {
    const unknown = ends.filter((hash) => !this.#known(hash));
    if (unknown.length === 0) return [];
    for (const { pointer } of await findCalledNow(this.#engine.repository, this.#caller, this.#id)) {
      const head = await readThreadCommit(this.#engine.repository, pointer.head);
      if (head.kind === 'end') this.#ends.set(pointer.id, { hash: head.hash, commit: head.id });
    }
    return unknown.filter((hash) => !this.#known(hash)).map((hash) => `no child thread of this turn ended as ${hash}`);
  }

  #known(hash: string): ChildEnd | undefined {
    return [...this.#ends.values()].find((end) => end.hash === hash);
  }

  /**
   * The children whose ends a step takes in: those that its reply names, then the others that the last try called. Each is
   * listed once.
   */
  taken(named: readonly string[]): ChildEnd[] {
    const ends = [...named.map((hash) => this.#known(hash)), ...[...this.#asked].map((id) => this.#ends.get(id))];
    return [...new Map(ends.filter((end) => end !== undefined).map((end) => [end.commit, end])).values()];
  }

  /** The children that a step leaves behind: the last try did not call them again, and no later call leads to them. */
  async findLeft(taken: readonly ChildEnd[]): Promise<ChildThread[]> {
    // All other turns from here would have been of this process.
    if (this.#isFirst && !this.#hasCalled) return [];
    const heads = new Set(taken.map(({ commit }) => commit));
    const called = await findCalledSince(this.#engine.repository, { ...this.#caller, id: this.#id });
    return called.filter(({ pointer }) => !heads.has(pointer.head));
  }
}
