import type { NodeHash } from '../cas/hash.ts';
import { META_SCHEMA } from '../cas/node-hash.ts';
import { keepersOf, type NodeFile } from '../cas/node-tree.ts';
import { type EncodedNode, encodeNode } from '../cas/node.ts';
import { artifactPath, isArtifact, replaceInScratch, typePath } from '../cas/scratch.ts';
import type { GitObject, ObjectId } from '../git/format/object-id.ts';
import { type RefEdit, RefMoved, type RefName, type Repository } from '../git/repository.ts';
import { ObjectBatch, publish, repositoryWith } from '../git/stores/publish.ts';
import { readCommit } from '../git/stores/read.ts';
import type { OutsideChanges } from '../git/format/paths.ts';
import type { Snapshot } from '../git/worktree/snapshot.ts';
import type { JsonObject } from '../json.ts';
import { inPlaceOf } from '../or-else.ts';
import { builtIn, payloadOf } from '../schema/built-in.ts';
import { addUsage, type Redacted, type Usage, type UsageByRole } from '../schema/built-in/schema-parts.ts';
import { MAX_ANCESTORS, type MergeRecord } from '../schema/built-in/thread-step.ts';
import type { AgentRecord } from '../schema/built-in/workflow.ts';
import { assertValid } from '../schema/validate.ts';
import { withNext } from './commit-message.ts';
import {
  agentNode,
  assertCommitFits,
  type AttemptDraft,
  attemptFiles,
  type CommitDraft,
  contentNode,
  draftCommit,
  taken,
} from './draft-commit.ts';
import { forkIdFor } from './new-thread-id.ts';
import { recordFiles } from './step-files.ts';
import { type TraceDraft, traceFiles } from './step-trace.ts';
import { type LinkResolution, readScratch, type Scratch } from './thread-cas.ts';
import { authorOf, findNodeAt, readTextAt, readThreadCommit, type ThreadCommit } from './thread-commit.ts';
import { LinkTakenBack, ThreadMoved } from './thread-errors.ts';
import { activeRef, scratchRef, type ThreadId } from './thread-id.ts';
import { advanceState, type CommitOf, type ThreadState, totalsOf, usageOfEnded } from './thread-state.ts';

/** A finished turn, as the engine hands it over. */
export type StepDraft = TurnFacts & {
  meta: JsonObject;
  /** The reply's body. */
  text: string;
  agentVersion?: string | undefined;
  stopReason?: string | undefined;
  /** Ends of the child threads this turn ran, with their commits. */
  childThreads: readonly { hash: NodeHash; commit: ObjectId }[];
  /** What the children have used that the turn left, by the roles that called them. */
  leftUsage?: UsageByRole | undefined;
  /** Nodes that `meta` links to and that are not in the thread. */
  linked: LinkResolution;
  /** The thread's newest step, if this step replaces it. `state` is then the thread before that step. */
  replaces?: CommitOf<'step'> | undefined;
  /** The files that the turn left. The caller protects their objects until the step is stored. */
  workspace?: Omit<Snapshot, 'packs' | 'release'> | undefined;
  /** What changed outside of the thread's work tree. */
  isolation?: OutsideChanges | undefined;
  /** What the files of a block's branches were merged from. */
  merge?: MergeRecord | undefined;
  startedAtMs: number;
  completedAtMs: number;
};

/**
 * Appends a step to a thread and moves the thread's ref.
 *
 * The ref moves only if it still points at `state.head`, or at the step that is replaced. Of two callers one wins. The other
 * gets `ThreadMoved`, and a fork keeps its step. The step takes in all artifacts that were put under the thread.
 * @param next by which its message tells who is next
 * @returns the thread with the step
 * @throws {ThreadMoved} if another writer appended first
 * @throws {SchemaViolation} if the step does not match its type; nothing is written then
 * @throws {LinkTakenBack} if `meta` links to a node that is missing or was deleted; nothing is written then
 */
export async function appendStep(
  repository: Repository,
  state: ThreadState,
  draft: StepDraft,
  next?: WhoIsNext,
): Promise<ThreadState> {
  for (;;) {
    try {
      return await tryAppend(repository, state, draft, next);
    } catch (error) {
      // An artifact was put while the step was written. The step takes it in, too.
      if (error instanceof RefMoved && error.ref === scratchRef(state.id)) continue;
      throw error;
    }
  }
}

async function tryAppend(
  repository: Repository,
  state: ThreadState,
  draft: StepDraft,
  next: WhoIsNext | undefined,
): Promise<ThreadState> {
  const scratch = await readScratch(repository, state.id);
  assertLinked(draft, scratch);
  const artifacts = scratch.files.filter(isArtifact).map(({ node }) => node.hash);
  const content = contentNode(draft.text, artifacts);
  const previous = state.last;
  const compact = draft.replaces
    ? await compactionOf(repository, draft.replaces)
    : compactionFor(scratch, previous?.hash);
  const { fields, files: turnFiles, agent } = encodeTurn(draft);
  const number = state.tally.steps + 1;
  const childUsage = await usageOfEnds(repository, draft.childThreads);
  const author = authorOf(draft.role, draft.agent, repository.committer, state.head);
  const recorded = draft.workspace && (await recordFiles(repository, draft, draft.workspace, { number, author }));
  const payload: JsonObject = {
    ...fields,
    totals: totalsOf(state.tally),
    number,
    meta: draft.meta,
    content: content.hash,
    start: state.start.hash,
    previous: previous?.hash ?? null,
    ...(draft.replaces && { replaces: draft.replaces.hash }),
    ancestors: previous ? [previous.hash, ...previous.node.ancestors].slice(0, MAX_ANCESTORS) : [],
    compact: compact?.hash ?? null,
    childThreads: draft.childThreads.map((child) => child.hash),
    ...(childUsage && { childUsage }),
    ...(draft.leftUsage && { leftUsage: draft.leftUsage }),
    ...(draft.agentVersion !== undefined && { agentVersion: draft.agentVersion }),
    ...(draft.stopReason !== undefined && { stopReason: draft.stopReason }),
    ...(recorded && { workspace: recorded.workspace }),
    ...(draft.isolation && { isolation: draft.isolation }),
    ...(draft.merge && { merge: draft.merge }),
    startedAtMs: draft.startedAtMs,
    completedAtMs: draft.completedAtMs,
  };
  const node = encodeNode(builtIn['thread-step'], payload);
  await assertValid(node.type, payload);

  const files: NodeFile[] = [
    { path: 'output.md', node: content },
    ...turnFiles,
    ...(compact ? [{ path: COMPACT_FILE, node: compact }] : []),
    ...takenIn(state, [...scratch.files.filter((file) => !isCompaction(file)), ...draft.linked.nodes.map(fileOf)]),
  ];
  if (state.start.node.agents[draft.role] !== agent.hash) files.push({ path: 'agent.json', node: agent });

  const pins = keepersOf(files.map(({ node: file }) => file));
  const commit = {
    kind: 'step' as const,
    node,
    files,
    subtrees: pins.entries,
    parents: [
      state.head.id,
      ...draft.childThreads.map((child) => child.commit),
      ...(draft.replaces ? [draft.replaces.id] : []),
      ...draft.linked.commits,
      ...pins.parents,
      ...(recorded ? [recorded.commit] : []),
    ],
    atMs: draft.completedAtMs,
    beside: { text: draft.text, agent: draft.agent },
  };
  const { commit: put } = scratch;
  return appendCommit(repository, state, commit, {
    ref: activeRef(state.id),
    expected: (draft.replaces ?? state.head).id,
    others: put === undefined ? [] : [{ name: scratchRef(state.id), expected: put, value: null }],
    keep: true,
    objects: recorded?.objects ?? [],
    next,
  });
}

async function usageOfEnds(repository: Repository, ends: StepDraft['childThreads']): Promise<Usage | null> {
  let usage: Usage | null = null;
  for (const { commit } of ends) {
    const end = await readThreadCommit(repository, commit);
    if (end.kind === 'end') usage = addUsage(usage, usageOfEnded(end.node));
  }
  return usage;
}

function assertLinked({ linked }: StepDraft, scratch: Scratch): void {
  const put = new Set(scratch.files.map(({ node }) => node.hash));
  const missing = linked.missing[0] ?? linked.waiting.find((hash) => !put.has(hash));
  if (missing !== undefined) throw new LinkTakenBack(missing);
}

function fileOf(node: EncodedNode): NodeFile {
  return { path: node.type === META_SCHEMA ? typePath(node.hash) : artifactPath(node), node };
}

/** The artifacts and the schemas that the start does not have, each path once. */
function takenIn({ start }: ThreadState, files: readonly NodeFile[]): NodeFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const types = new Set(start.index.flatMap(({ path, hash }) => (path === typePath(hash) ? [hash] : [])));
  return [...byPath.values()].filter(({ node }) => !types.has(node.hash));
}

/** The facts of a turn that steps and suspensions store. */
export type TurnFacts = {
  role: string;
  /** The whole prompt of the agent. */
  prompt: string;
  agent: AgentRecord;
  /** The rule that chose the role; null if a person forced it. */
  rule: number | null;
  usage: Usage | null;
  attempts: readonly AttemptDraft[];
  /** Absent if the agent reports no trace. */
  trace?: TraceDraft | undefined;
  /** What was redacted in its texts. */
  redacted?: Redacted | undefined;
};

/** Encodes a turn: fields of the node, files beside it, and the agent's node, which is a file of some commits only. */
export function encodeTurn(turn: TurnFacts): { fields: JsonObject; files: NodeFile[]; agent: EncodedNode } {
  const { role, rule, usage } = turn;
  const prompt = contentNode(turn.prompt);
  const agent = agentNode(turn.agent);
  const attempts = attemptFiles(turn.attempts);
  const trace = turn.trace && traceFiles(turn.trace, role, agent.hash);
  const hashes = { agent: agent.hash, prompt: prompt.hash, attempts: attempts.hashes, react: trace?.session ?? null };
  const files = [{ path: 'prompt.md', node: prompt }, ...attempts.files, ...(trace?.files ?? [])];
  return { fields: { role, rule, usage, ...hashes, ...taken(turn) }, files, agent };
}

/** How the refs move to a commit that is appended. */
type AppendOptions = {
  /** The ref that moves to the commit, and the value it is expected to have; null: it must not exist. */
  ref: RefName;
  expected: ObjectId | null;
  /** The other edits of the transaction. One edit is that of the thread's active ref. */
  others?: readonly RefEdit[];
  /** Whether a fork keeps the commit if another writer is first. */
  keep: boolean;
  /** Objects that the commit needs beside its nodes. */
  objects?: readonly GitObject[];
  next?: WhoIsNext | undefined;
};

/**
 * Works out who is next once a step is stored, a role or `__end__`; `undefined` where that cannot be said.
 * @param imagined the repository with the step
 */
export type WhoIsNext = (imagined: Repository, after: ThreadState) => Promise<string | undefined>;

/** Writes the next commit of a thread and moves the thread's ref to it. */
export async function appendCommit(
  repository: Repository,
  state: ThreadState,
  draft: Omit<CommitDraft, 'types' | 'before'>,
  { ref, expected, others = [], keep, objects = [], next }: AppendOptions,
): Promise<ThreadState> {
  const batch = new ObjectBatch(repository.objects.format);
  for (const object of objects) batch.add(object);
  let commit = draftCommit(repository, batch, { ...draft, before: state.head });
  if (next !== undefined) {
    const imagined = new ObjectBatch(repository.objects.format);
    const id = imagined.addCommit(commit);
    const seen = repositoryWith(repositoryWith(repository, batch), imagined);
    const after = await advanceState(seen, state, await readThreadCommit(seen, id));
    commit = { ...commit, message: withNext(commit.message, await next(seen, after)) };
    assertCommitFits(commit);
  }
  const tip = batch.addCommit(commit);
  const edits = [{ name: ref, expected, value: tip }, ...others];
  const moved = await moveThread(repository, state.id, batch, tip, edits, { keep });
  return advanceState(repository, state, moved);
}

/**
 * Publishes a batch and moves a thread's ref from its head to a new tip. If another writer moves the ref first, keeps the
 * new commit as a fork: an agent's turn costs money.
 * @param edits the whole transaction; one of them is the thread's own
 * @param options.keep false if the commit cost nothing, so that no fork keeps it
 * @throws {ThreadMoved} if another writer was first
 * @throws {RefMoved} if another ref of the transaction moved; nothing is changed then
 */
export async function moveThread(
  repository: Repository,
  thread: ThreadId,
  batch: ObjectBatch,
  tip: ObjectId,
  edits: readonly RefEdit[],
  { keep }: { keep: boolean },
): Promise<ThreadCommit> {
  await publish(repository, batch, edits, async ({ ref, actual }) => {
    if (ref !== activeRef(thread)) return;
    const fork = keep ? await keepAsFork(repository, thread, tip) : undefined;
    throw new ThreadMoved(thread, fork, actual ?? undefined);
  });
  return readThreadCommit(repositoryWith(repository, batch), tip);
}

/** Gives a commit that lost the race for its thread a ref of its own. The fork's id follows from both, so keeping it twice keeps it once. */
export async function keepAsFork(repository: Repository, thread: ThreadId, tip: ObjectId): Promise<ThreadId> {
  const commit = await readCommit(repository.objects, tip);
  const fork = forkIdFor(thread, tip, commit.committer.atMs);
  const name = activeRef(fork);
  if ((await repository.refs.read(name)) !== undefined) return fork;
  // If the ref exists, another process has kept the same commit. The fork may have advanced since.
  await repository.refs.update([{ name, expected: null, value: tip }]).catch(inPlaceOf(RefMoved, undefined));
  return fork;
}

/** The file of a step's tree with a summary that replaces all earlier steps in the prompts of agents. */
export const COMPACT_FILE = 'compact.md';

const COMPACT_FOLDER = 'compact/';

/**
 * Pins a summary of all steps up to one, until the next step stores it.
 *
 * It replaces an earlier pinned summary. If another step follows than the next one, the summary is dropped, because it would
 * be incomplete.
 * @param last the newest step in the summary
 */
export async function pinCompaction(
  repository: Repository,
  thread: ThreadId,
  last: NodeHash,
  text: string,
): Promise<NodeHash> {
  const node = contentNode(text);
  await replaceInScratch(repository, scratchRef(thread), COMPACT_FOLDER, { path: compactPath(last), node });
  return node.hash;
}

/** The pinned summary that the step after a given one is to store. */
export function compactionFor(scratch: Scratch, last: NodeHash | undefined): EncodedNode | undefined {
  return last && scratch.files.find(({ path }) => path === compactPath(last))?.node;
}

/** Tells whether a file of a scratch tree is a summary. */
export function isCompaction({ path }: { path: string }): boolean {
  return path.startsWith(COMPACT_FOLDER);
}

/** The summary that a step stores. */
export async function compactionOf(repository: Repository, step: CommitOf<'step'>): Promise<EncodedNode | undefined> {
  const node = step.node.compact === null ? undefined : await findNodeAt(repository, step, COMPACT_FILE);
  return node && encodeNode(node.type, node.payload);
}

/** The text of the pinned summary for the step after a given one. */
export async function readWaitingCompaction(
  repository: Repository,
  thread: ThreadId,
  last: NodeHash | undefined,
): Promise<string | undefined> {
  const node = compactionFor(await readScratch(repository, thread), last);
  return node && payloadOf(node, 'content').text;
}

/** The text of the summary that a step stores. */
export async function readCarriedCompaction(
  repository: Repository,
  step: CommitOf<'step'>,
): Promise<string | undefined> {
  return step.node.compact === null ? undefined : readTextAt(repository, step, COMPACT_FILE);
}

function compactPath(last: NodeHash): string {
  return `${COMPACT_FOLDER}${last}.md`;
}
