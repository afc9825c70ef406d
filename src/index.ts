/**
 * uwf: a workflow engine for AI agents that lives inside any git repository.
 *
 * Nothing here prints, exits, or reads the environment or the home directory: repository, configuration, environment,
 * signals and the person at the terminal are handed in.
 */
import { isNodeHash, parseNodeHash, prepareHashing, type NodeHash } from './cas/hash.ts';
import { openRepository as openGitRepository, type OpenOptions } from './git/open-repository.ts';
import type { Repository } from './git/repository.ts';
import type { NodesOf } from './schema/refs.ts';
import {
  findReachableHashes as findReachable,
  walk as walkNodes,
  type WalkedNode,
  type WalkOptions,
} from './schema/walk.ts';
import { getThread } from './thread/find-thread.ts';
import { nodesOfThread } from './thread/nodes-of-thread.ts';

// So that `hashNode` and all that hashes can be called without waiting.
await prepareHashing();

/**
 * Opens the repository that git would work on in a folder. Nothing is written.
 *
 * @throws {RepositoryNotFound} if there is none
 * @throws {DubiousOwnership} if it, or its configuration, belongs to another user and `safe.directory` does not name it;
 *   where the user's configuration of git lies is looked up in `env`
 * @throws {UnsupportedRepository} if its format is one that uwf does not speak
 */
export function openRepository(dir: string, options?: OpenOptions): Promise<Repository> {
  return openGitRepository(dir, options);
}

/**
 * Walks over all nodes that some roots link to, each once, depth first, the roots first.
 *
 * @param nodes where to look: a repository, or the store of a thread (`threadCas`)
 * @param root hashes of nodes; or, in a repository, ids of threads. The roots of a thread are the nodes of all its commits,
 * from its head on
 * @throws {NodeNotFound} if a link leads nowhere
 */
export async function* walk(
  nodes: NodesOf,
  root: string | readonly string[],
  options?: WalkOptions,
): AsyncGenerator<WalkedNode> {
  yield* walkNodes(nodes, await rootsOf(nodes, typeof root === 'string' ? [root] : root), options);
}

/** The hashes of all nodes that some roots reach, themselves included; roots are as for {@link walk}. */
export async function findReachableHashes(nodes: NodesOf, roots: readonly string[]): Promise<Set<NodeHash>> {
  return findReachable(nodes, await rootsOf(nodes, roots));
}

async function rootsOf(nodes: NodesOf, texts: readonly string[]): Promise<NodeHash[]> {
  const roots: NodeHash[] = [];
  for (const text of texts) {
    if (isNodeHash(text) || 'find' in nodes) roots.push(parseNodeHash(text));
    else for (const hash of await nodesOfThread(nodes, (await getThread(nodes, text)).head)) roots.push(hash);
  }
  return roots;
}

// Repositories
export { committerFromGit, FALLBACK_COMMITTER } from './git/identity.ts';
export { parseObjectId, type GitObject, type ObjectId, type ObjectType } from './git/object-id.ts';
export type { OpenOptions } from './git/open-repository.ts';
export { openPortableRepository } from './git/portable/open-portable-repository.ts';
export type { ObjectStore, ReadOptions, WrittenObjects } from './git/object-store.ts';
export { RefMoved, type Ref, type RefEdit, type RefName, type RefStore } from './git/ref-store.ts';
export type { Identity, Repository, RepositoryLocation } from './git/repository.ts';

// Nodes
export { hashNode, isNodeHash, parseNodeHash, type NodeHash } from './cas/hash.ts';
export { reindex, repositoryNodes, type RepositoryNodes } from './cas/lookup/repository-nodes.ts';
export { HashMismatch, NotCanonical, type EncodedNode, type Node } from './cas/node.ts';
export { getNode, HashCollision, NodeNotFound, type NodeSource, type StoredNode } from './cas/node-source.ts';
export type { JsonObject, JsonValue } from './json.ts';

// Schemas and links
export { builtIn, builtInSchema, typeNameOf, typeNames, type TypeName } from './schema/built-in.ts';
export type { Content } from './schema/built-in/content.ts';
export { DanglingLink, WrongLinkType } from './schema/check-links.ts';
export { collectRefs, findCasRefs } from './schema/links.ts';
export { putNode, putNodes, type PutOptions } from './schema/put-node.ts';
export { putSchema } from './schema/put-schema.ts';
export { refs, type NodesOf } from './schema/refs.ts';
export { validate, type Validation } from './schema/validate.ts';
export { InvalidSchema, SchemaViolation } from './schema/validator.ts';
export type { WalkedNode, WalkOptions } from './schema/walk.ts';

// Workflows
export { END, RESUME, START } from './workflow/definition.ts';
export type { Limits, RoleCheck, RoleDefinition, Rule, WorkflowDefinition } from './workflow/definition.ts';
export { formatDiagnostic, InvalidWorkflow, type Diagnostic } from './workflow/diagnostic.ts';
export { findWorkflow, WorkflowNotFound, type RegisteredWorkflow } from './workflow/find-workflow.ts';
export { listWorkflows, type UnreadableWorkflow } from './workflow/list-workflows.ts';
export { loadWorkflow } from './workflow/load-workflow.ts';
export { loadWorkflowFile, type LoadedWorkflowFile, type LoadFileOptions } from './workflow/load-workflow-file.ts';
export { registerWorkflow } from './workflow/register-workflow.ts';
export { removeWorkflow } from './workflow/remove-workflow.ts';
export { resolveWorkflow, type ResolvedWorkflow } from './workflow/resolve-workflow.ts';
export { validateWorkflow, type ValidatedWorkflow, type ValidateOptions } from './workflow/validate-workflow.ts';
export { decide, type DecideOptions } from './moderator/decide.ts';
export type { Decision, DecisionContext, StartView, StepView } from './moderator/decision.ts';

// Threads
export { diffThreads, type DiffStep, type StepPair, type ThreadDiff } from './thread/diff-threads.ts';
export { forkThread, type Fork } from './thread/fork-thread.ts';
export { exportThread } from './thread/export/export-thread.ts';
export { RefusedImport } from './thread/export/refused-import.ts';
export type { ThreadRow } from './thread/export/rows.ts';
export { getThread, listPointers, type ThreadPointer } from './thread/find-thread.ts';
export { removeThread } from './thread/remove-thread.ts';
export { NodeInUse, threadCas, type ThreadCas, type ThreadCasEntry } from './thread/thread-cas.ts';
export type { ThreadCommit, ThreadCommitKind } from './thread/thread-commit.ts';
export { CorruptThread, ThreadMoved, ThreadNotFound, WrongThreadState } from './thread/thread-errors.ts';
export { parseThreadId, type ThreadId } from './thread/thread-id.ts';
export { readThread, type StepEntry, type ThreadState } from './thread/thread-state.ts';
export type { ThreadStatus } from './thread/thread-status.ts';

// Sharing threads with other repositories
export { openRemote, type OpenRemoteOptions } from './git/open-remote.ts';
export type { Remote } from './git/remote.ts';
export { NoSuchRemote, RemoteUnreachable } from './git/remote-errors.ts';
export { fetchThreads } from './sync/fetch-threads.ts';
export { listRemoteThreads, type RemoteThread } from './sync/list-remote-threads.ts';
export { pushThreads } from './sync/push-threads.ts';
export { NotRemovedThere, removeRemoteThread } from './sync/remove-remote-thread.ts';
export type * from './sync/report.ts';
export { ThreadNotThere } from './sync/select-refs.ts';
export type { SyncOptions } from './sync/sync-options.ts';
export { syncThreads } from './sync/sync-threads.ts';

// The engine, and the agents it runs
export { createEngine, type Engine } from './engine/engine.ts';
export { loadConfig, type Config, type ConfigOptions } from './engine/config.ts';
export type { Admit, AgentUse } from './engine/agent-use.ts';
export type { EngineOptions } from './engine/context.ts';
export type { ListOptions, ThreadSummary, ThreadView } from './engine/describe.ts';
export type { EngineEvent, ThreadOver } from './engine/events.ts';
export { importThread, type Imported } from './engine/import-thread.ts';
export { LeaseHeld } from './engine/lease.ts';
export type { Answer, AskOptions } from './engine/ask.ts';
export type { Compacted, CompactOptions } from './engine/compact.ts';
export type { PokeOptions } from './engine/poke.ts';
export type { ResumeOptions } from './engine/resume.ts';
export type { RunOptions } from './engine/run.ts';
export { simulateThread, type Divergence, type Simulated } from './engine/simulate.ts';
export type { StartOptions } from './engine/start.ts';
export type { StepOptions, StepOutcome } from './engine/step-thread.ts';
export type { StopOutcome } from './engine/stop.ts';
export { AgentMissing } from './agent/agent-errors.ts';
export type {
  Agent,
  AgentCas,
  AgentEvent,
  AgentPackage,
  AgentReply,
  AgentRequest,
  ChildOutcome,
  PackageDescriptor,
  Usage,
} from './agent/contract.ts';
export { UwfError, type ErrorDetails, type ErrorKind } from './errors.ts';
