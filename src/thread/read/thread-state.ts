import type { NodeHash } from '../../cas/hash.ts';
import { typePath } from '../../cas/scratch.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { readChain } from './read-chain.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readTextAt, type ThreadCommit } from '../format/thread-commit.ts';
import type { CommittedState } from '../new-thread-id.ts';
import type { ThreadId } from '../thread-id.ts';

/** A thread's commit of one kind. */
export type CommitOf<K extends ThreadCommit['kind']> = Extract<ThreadCommit, { kind: K }>;

/** A step with the text of its reply. */
export type StepEntry = { commit: CommitOf<'step'>; text: string };

/**
 * A thread as it is at one head. A value: it does not change when the thread advances.
 */
export type ThreadState = {
  /** The id of its ref. A fork has its own id, and shares `start.node.id`. */
  id: ThreadId;
  head: ThreadCommit;
  start: CommitOf<'start'>;
  prompt: string;
  /** All commits, from the start to the head. */
  chain: readonly ThreadCommit[];
  /** Oldest first. */
  steps: readonly StepEntry[];
  /** The suspensions and resumptions after the last step, oldest first. */
  pauses: readonly CommitOf<'suspend' | 'resume'>[];
  /** The schemas in the thread's commits. */
  types: ReadonlySet<NodeHash>;
  /** The suspended turns that cost something, oldest first. */
  suspendedTurns: readonly { role: string; usage: Usage }[];
  end: CommitOf<'end'> | undefined;
};

/** How much of a thread is read. With `steps`, a text that a partial clone left out is ''. */
export type ThreadExtent = 'texts' | 'steps';

/**
 * Reads a whole thread. Fetches the texts that a partial clone left out, in one connection.
 *
 * @throws {CorruptThread} if its chain is not what storage promises
 */
export async function readThread(
  repository: Repository,
  id: ThreadId,
  head: ObjectId,
  extent: ThreadExtent = 'texts',
): Promise<ThreadState> {
  const commits: ThreadCommit[] = [];
  for await (const commit of readChain(repository, head)) commits.push(commit);
  const first = commits.at(-1);
  if (first?.kind !== 'start') throw new CorruptThread(head, 'its chain has no start');
  const state: ThreadState = {
    id,
    head: first,
    start: first,
    prompt: await readTextAt(repository, first, 'prompt.md'),
    chain: [first],
    steps: [],
    pauses: [],
    types: new Set(typesIn(first)),
    suspendedTurns: [],
    end: undefined,
  };
  if (extent === 'texts') await repository.objects.prefetch?.(commits.flatMap(replyOf));
  const later: { commit: ThreadCommit; text: string }[] = [];
  for (const commit of commits.toReversed().slice(1)) {
    const isLeftOut = extent === 'steps' && !(await hasAll(repository, replyOf(commit)));
    const isRead = commit.kind === 'step' && !isLeftOut;
    later.push({ commit, text: isRead ? await readTextAt(repository, commit, 'output.md') : '' });
  }
  return advanceThread(state, later);
}

/** The blob of a step's reply; none for other commits. */
export function replyOf({ kind, index }: Pick<ThreadCommit, 'kind' | 'index'>): ObjectId[] {
  return kind === 'step' ? index.filter(({ path }) => path === 'output.md').map(({ oid }) => oid) : [];
}

async function hasAll({ objects }: Repository, ids: readonly ObjectId[]): Promise<boolean> {
  for (const id of ids) if (!(await objects.has(id))) return false;
  return true;
}

/** The state after more commits, oldest first, in linear time. */
export function advanceThread(
  state: ThreadState,
  later: readonly { commit: ThreadCommit; text: string }[],
): ThreadState {
  const steps = [...state.steps];
  const chain = [...state.chain];
  let after: ThreadState = { ...state, steps, chain };
  for (const { commit, text } of later) {
    chain.push(commit);
    if (commit.kind === 'step') steps.push({ commit, text });
    after = { ...advance(after, commit), steps, chain };
  }
  return after;
}

function typesIn({ index }: ThreadCommit): NodeHash[] {
  return index.filter(({ path, hash }) => path.startsWith('types/') && path === typePath(hash)).map(({ hash }) => hash);
}

function advance(before: ThreadState, commit: ThreadCommit): ThreadState {
  const added = typesIn(commit);
  const state = added.length === 0 ? before : { ...before, types: new Set([...before.types, ...added]) };
  switch (commit.kind) {
    case 'start':
      throw new CorruptThread(commit.id, 'a second start in one chain');
    case 'step':
      return { ...state, head: commit, pauses: [] };
    case 'suspend': {
      const { role, usage } = commit.node;
      const suspendedTurns = usage ? [...state.suspendedTurns, { role, usage }] : state.suspendedTurns;
      return { ...state, head: commit, pauses: [...state.pauses, commit], suspendedTurns };
    }
    case 'resume':
      return {
        ...state,
        head: commit,
        pauses: [...state.pauses, commit],
      };
    case 'end':
      return { ...state, head: commit, end: commit };
  }
}

/** The hash of the last step, or of the start: `parentState` of a child, `previous` of a step. */
export function stateHash(state: ThreadState): NodeHash {
  return stateCommit(state).hash;
}

/** The commit of the last step, or of the start. The ids of children that are called now follow from it. */
export function stateCommit({ steps, start }: Pick<ThreadState, 'steps' | 'start'>): CommitOf<'step' | 'start'> {
  return steps.at(-1)?.commit ?? start;
}

/** The parts of a commit from which ids follow. */
export function committedAt({ id, commit }: Pick<ThreadCommit, 'id' | 'commit'>): CommittedState {
  return { commit: id, committedAtMs: commit.committer.atMs };
}
