import { UwfError } from '../../errors.ts';
import type { Commit } from '../../git/format/commit.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { ObjectBatch } from '../../git/stores/object-batch.ts';
import { readCommit } from '../../git/stores/read.ts';
import { nameSome, unresolvedIn } from '../../git/worktree/missing-files.ts';
import { isJsonObject } from '../../json.ts';
import { isString } from '../../shape.ts';
import { codeMessage } from '../append/commit-message.ts';
import type { ThreadPointer } from '../thread-refs.ts';
import { readChain } from '../read/read-chain.ts';
import { findRecordedFiles, type RecordedFiles } from '../read/recorded-files.ts';
import type { CommitOf } from '../read/thread-state.ts';
import { readTextAt } from '../thread-commit.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId } from '../thread-id.ts';

/** The result of a thread in the user's code: the files after its newest step, as a commit of git. */
export type ThreadCode = {
  thread: ThreadId;
  /** The commit that its work tree was made from. */
  base: ObjectId;
  /** The newest step that recorded files. */
  step: CommitOf<'step'>;
  /** The commit that was checked out then; `undefined` on an unborn branch. */
  checkedOut: ObjectId | undefined;
  /** The commits that were being merged into it. */
  merging: readonly ObjectId[];
  tree: ObjectId;
  /** `checkedOut` if the step left its files; otherwise a commit on it, and on `merging`, with them. */
  tip: ObjectId;
  /** The commit `tip`, unless it is `checkedOut`. The repository need not have it. */
  own: readonly GitObject[];
  /** The message for a single commit with all changes of the thread. */
  message: string;
  /** The snapshots of the steps' files. They are no part of the user's history. */
  snapshots: ReadonlySet<ObjectId>;
};

/**
 * Finds the result of a thread in the user's code. Writes nothing. The same thread always gives the same tip.
 *
 * @throws {UwfError} `no-base` if the thread has no work tree of its own, `no-snapshot` if no step has recorded files,
 *   `snapshot-short` if the newest one could not
 * @throws {CorruptThread} if its chain violates the format
 */
export async function findCode(repository: Repository, { id, head }: ThreadPointer): Promise<ThreadCode> {
  const { start, end, step, steps } = await readSteps(repository, head);
  const { base } = start.node;
  if (base === undefined) throw noBase(id);
  if (step === undefined) throw noFiles(id);
  const { tree, checkedOut, merging, isSnapshot } = await recordedBy(repository, step);
  if (!isSnapshot) throw snapshotShort(id, step);
  const prompt = await readTextAt(repository, start, 'prompt.md');
  const summary = end && (await readTextAt(repository, end, 'summary.md'));
  const message = codeMessage(id, prompt, summary);
  const batch = new ObjectBatch(repository.objects.format);
  const isCommitted =
    checkedOut !== undefined &&
    merging.length === 0 &&
    (await readCommit(repository.objects, checkedOut)).tree === tree;
  const facts = { tree, checkedOut, merging, step, message };
  const tip = isCommitted ? checkedOut : batch.addCommit(tipCommit(repository, facts));
  const snapshots = new Set(steps.flatMap(({ node }) => node.workspace?.commit ?? []));
  // If no files were recorded, a step names a commit of the user's.
  for (const each of steps) {
    const recorded = await recordedBy(repository, each);
    if (recorded.checkedOut !== undefined) snapshots.delete(recorded.checkedOut);
  }
  return { thread: id, base, step, checkedOut, merging, tree, tip, own: batch.objects, message, snapshots };
}

/**
 * The same result on one line of commits: `git rebase` leaves out merges, with all that was changed in them.
 */
export function asOneLine(repository: Repository, code: ThreadCode): ThreadCode {
  if (code.merging.length === 0) return code;
  const batch = new ObjectBatch(repository.objects.format);
  const flat = { ...code, merging: [] };
  return { ...flat, tip: batch.addCommit(tipCommit(repository, flat)), own: batch.objects };
}

/**
 * Checks that no file of a thread's code has a conflict that is not resolved: a block left it, or a turn in a person's work tree.
 *
 * @throws {UwfError} `unresolved-conflicts`
 */
export function assertResolved({ thread, step }: ThreadCode): void {
  const { meta, merge, workspace, number } = step.node;
  // A block has them in its meta.
  const ofBlock = merge === undefined || !Array.isArray(meta['conflicts']) ? [] : meta['conflicts'];
  const paths = [
    ...ofBlock.flatMap((conflict) => (isJsonObject(conflict) && isString(conflict['path']) ? conflict['path'] : [])),
    ...unresolvedIn(workspace?.missing),
  ];
  if (paths.length === 0) return;
  throw new UwfError(`step ${number} of thread ${thread} left conflicts that are not resolved: ${nameSome(paths)}`, {
    code: 'unresolved-conflicts',
    kind: 'data',
    hint: `a later step of the thread can resolve them; 'uwf thread merge ${thread} --branch <name>' makes a branch of the files as they are`,
    facts: { thread, number },
  });
}

type Steps = {
  start: CommitOf<'start'>;
  end: CommitOf<'end'> | undefined;
  /** The newest step that recorded files. */
  step: CommitOf<'step'> | undefined;
  /** All that did. */
  steps: CommitOf<'step'>[];
};

async function readSteps(repository: Repository, head: ObjectId): Promise<Steps> {
  const steps: CommitOf<'step'>[] = [];
  let end: CommitOf<'end'> | undefined;
  for await (const commit of readChain(repository, head)) {
    if (commit.kind === 'end' && commit.id === head) end = commit;
    if (commit.kind === 'step' && commit.node.workspace !== undefined) steps.push(commit);
    if (commit.kind === 'start') return { start: commit, end, step: steps[0], steps };
  }
  throw new CorruptThread(head, 'its chain has no start');
}

/** Reads what a step recorded. */
async function recordedBy({ objects }: Repository, step: CommitOf<'step'>): Promise<RecordedFiles> {
  const recorded = await findRecordedFiles(objects, step);
  if (recorded === undefined) throw new TypeError('a step without files has no snapshot');
  return recorded;
}

type TipFacts = Pick<ThreadCode, 'tree' | 'checkedOut' | 'merging' | 'step' | 'message'>;

/** The commit is the user's; its date is that of the step. */
function tipCommit({ committer: user }: Repository, { tree, checkedOut, merging, step, message }: TipFacts): Commit {
  const author = { ...user, atMs: step.commit.author.atMs };
  return {
    tree,
    parents: checkedOut === undefined ? [] : [checkedOut, ...merging],
    author,
    committer: author,
    message,
  };
}

/** A thread has no work tree of its own. */
export function noBase(thread: ThreadId): UwfError {
  return new UwfError(`thread ${thread} has no work tree of its own, so its changes have nothing to be compared with`, {
    code: 'no-base',
    kind: 'data',
    hint: "a role with 'isolation: worktree' gives a thread its own work tree; 'uwf step restore <step> --worktree <folder>' restores the files of a step",
    facts: { thread },
  });
}

function noFiles(thread: ThreadId): UwfError {
  return new UwfError(`no step of thread ${thread} has recorded files yet`, {
    code: 'no-snapshot',
    kind: 'data',
    hint: `run it on with 'uwf thread run ${thread}': each turn in its own work tree records the files`,
    facts: { thread },
  });
}

function snapshotShort(thread: ThreadId, { node: { number } }: CommitOf<'step'>): UwfError {
  return new UwfError(`step ${number} of thread ${thread} could not record the files it left`, {
    code: 'snapshot-short',
    kind: 'data',
    hint: `they are in the work tree of the thread; 'uwf step show ${number} --thread ${thread}' tells of the step`,
    facts: { thread, number },
  });
}
