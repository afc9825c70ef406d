import { META_SCHEMA } from '../cas/node-hash.ts';
import type { NodeHash } from '../cas/hash.ts';
import { keepersOf, type NodeFile } from '../cas/node-tree.ts';
import { type EncodedNode, encodeNode } from '../cas/node.ts';
import { artifactPath, isArtifact, typePath } from '../cas/scratch.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { RefMoved } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import type { Snapshot } from '../git/worktree/snapshot.ts';
import type { OutsideChanges } from '../git/worktree/file-notes.ts';
import type { JsonObject } from '../json.ts';
import { builtIn } from '../schema/built-in.ts';
import type { AgentRecord } from '../schema/built-in/workflow.ts';
import { MAX_ANCESTORS, type MergeRecord } from '../schema/built-in/thread-step.ts';
import { addUsage, type Redacted, type Usage, type UsageByRole } from '../schema/built-in/schema-parts.ts';
import { assertValid } from '../schema/validate.ts';
import { appendCommit, type WhoIsNext } from './append-commit.ts';
import { COMPACT_FILE, compactionFor, compactionOf, isCompaction } from './compaction.ts';
import { agentNode, type AttemptDraft, attemptFiles, contentNode, taken } from './draft-commit.ts';
import { recordFiles } from './step-files.ts';
import { type TraceDraft, traceFiles } from './step-trace.ts';
import { authorOf, readThreadCommit } from './thread-commit.ts';
import { LinkTakenBack } from './thread-errors.ts';
import { activeRef, scratchRef } from './thread-id.ts';
import { type LinkResolution, readScratch, type Scratch } from './thread-scratch.ts';
import { type CommitOf, type ThreadState, totalsOf, usageOfEnded } from './thread-state.ts';

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

/** What threads have used that have ended, in their order. */
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

/** The file of a copied node. */
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
