/**
 * uwf: a workflow engine for AI agents that lives inside any git repository.
 *
 * Nothing here prints, exits, or reads the environment or the home directory: repository, configuration, environment,
 * signals and the person at the terminal are handed in.
 */
import { isNodeHash, parseNodeHash, prepareHashing, type NodeHash } from './cas/hash.ts';
import {
  findReachableHashes as findReachable,
  type NodesOf,
  walk as walkNodes,
  type WalkedNode,
  type WalkOptions,
} from './schema/links.ts';
import { getThread } from './thread/find-thread.ts';
import { nodesOfThread } from './thread/thread-cas.ts';

// So that `hashNode` and all that hashes can be called without waiting.
await prepareHashing();

// Repositories
export { committerFromGit } from './git/repository/repository-config.ts';
export { parseObjectId, type GitObject, type ObjectId } from './git/format/object-id.ts';
export { openRepository, type OpenOptions } from './git/open-repository.ts';
export { openPortableRepository } from './git/stores/portable/open-portable-repository.ts';
export type { ObjectStore } from './git/object-store.ts';
export type { Ref, RefEdit, RefName, RefStore } from './git/ref-store.ts';
export type { Identity, Repository, RepositoryLocation } from './git/repository.ts';

// Nodes
export { hashNode, isNodeHash, parseNodeHash, type NodeHash } from './cas/hash.ts';
export { reindex, repositoryNodes, type RepositoryNodes } from './cas/lookup.ts';
export type { Node } from './cas/node.ts';
export { getNode, type NodeSource, type StoredNode } from './cas/node.ts';
export type { JsonObject, JsonValue } from './json.ts';

// Schemas and links
export { builtIn, type TypeName } from './schema/built-in.ts';
export type { Content } from './schema/built-in/turn-nodes.ts';
export { collectRefs, findCasRefs } from './schema/find-links.ts';
export { putNode, type PutOptions } from './schema/put.ts';
export { putSchema } from './schema/put.ts';
export { refs, type NodesOf } from './schema/links.ts';
export { validate, type Validation } from './schema/validate.ts';
export { SchemaViolation } from './schema/schema-error.ts';
export type { WalkedNode, WalkOptions } from './schema/links.ts';

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

// Workflows
export { END, RESUME, START } from './workflow/definition.ts';
export type { Limits, RoleCheck, RoleDefinition, Rule, WorkflowDefinition } from './workflow/definition.ts';
export { formatDiagnostic, InvalidWorkflow, type Diagnostic } from './workflow/diagnostics/diagnostic.ts';
export { findWorkflow, type RegisteredWorkflow } from './workflow/registry/find-workflow.ts';
export { listWorkflows, type UnreadableWorkflow } from './workflow/registry/find-workflow.ts';
export { loadWorkflow } from './workflow/nodes/load-workflow.ts';
export { loadWorkflowFile, type LoadedWorkflowFile, type LoadFileOptions } from './workflow/load/load-workflow-file.ts';
export { registerWorkflow } from './workflow/registry/register-workflow.ts';
export { removeWorkflow } from './workflow/registry/find-workflow.ts';
export { resolveWorkflow, type ResolvedWorkflow } from './workflow/load/resolve-workflow.ts';
export { validateWorkflow, type ValidatedWorkflow, type ValidateOptions } from './workflow/check/validate-workflow.ts';
export { decide, type DecideOptions } from './moderator/decide.ts';
export type { Decision, DecisionContext, StartView } from './moderator/decision.ts';
export type { StepView } from './thread/step-view.ts';

// Threads
export { diffThreads, type DiffStep, type StepPair, type ThreadDiff } from './thread/diff-threads.ts';
export { forkThread, type Fork } from './thread/fork-thread.ts';
export { branchThread } from './thread/code/merge-thread.ts';
export { mergeThread, type MergeOptions, type MergeReport } from './thread/code/merge-thread.ts';
export { findCode, type ThreadCode } from './thread/code/thread-code.ts';
export { exportThread } from './thread/export-thread.ts';
export type { ThreadRow } from './thread/export-thread.ts';
export { getThread, listPointers } from './thread/find-thread.ts';
export type { ThreadPointer } from './thread/thread-id.ts';
export { removeThread } from './thread/remove-thread.ts';
export { threadCas, type ThreadCas, type ThreadCasEntry } from './thread/thread-cas.ts';
export type { ThreadCommit } from './thread/thread-commit.ts';
export { parseThreadId, type ThreadId } from './thread/thread-id.ts';
export type { StepEntry } from './thread/thread-state.ts';
export { readThread, type WholeThread } from './thread/thread-chain.ts';
export type { ThreadStatus } from './thread/thread-status.ts';
export type { Unrepeated } from './verify/verification.ts';
export type { Fault } from './verify/fault.ts';
export { verifyThread, type ThreadVerdict, type VerifyContext } from './verify/verify-threads.ts';

// Sharing threads with other repositories
export { openRemote, type OpenRemoteOptions } from './git/transport/open-remote.ts';
export type { Remote } from './git/transport/remote.ts';
export { fetchThreads } from './sync/fetch-threads.ts';
export { listRemoteThreads, type RemoteThread } from './sync/shared-refs.ts';
export { pushThreads } from './sync/push-threads.ts';
export { removeRemoteThread } from './sync/remove-remote-thread.ts';
export type * from './sync/report.ts';
export type { SyncOptions } from './sync/report.ts';
export { syncThreads } from './sync/sync-threads.ts';

// The engine, and the agents it runs
export { createEngine, type Engine } from './engine/engine.ts';
export { loadConfig, type Config, type ConfigOptions } from './engine/config/config.ts';
export type { Admit, AgentUse } from './engine/engine-context.ts';
export type { EngineOptions } from './engine/engine-context.ts';
export type { ThreadView } from './engine/describe/describe.ts';
export type { ListOptions, ThreadSummary } from './engine/describe/list-threads.ts';
export type { EngineEvent, ThreadOver } from './engine/events.ts';
export { importThread, type Imported } from './engine/verbs/import-thread.ts';
export { LeaseHeld } from './engine/leases/lease.ts';
export type { Answer, AskOptions } from './engine/verbs/ask.ts';
export type { Compacted, CompactOptions } from './engine/verbs/compact.ts';
export type { PokeOptions } from './engine/verbs/poke.ts';
export type { ResumeOptions } from './engine/verbs/store-answer.ts';
export type { RunOptions } from './engine/verbs/run.ts';
export { simulateThread, type Divergence, type Simulated } from './engine/verbs/simulate.ts';
export type { StartOptions } from './engine/verbs/start.ts';
export type { StepOptions } from './engine/verbs/run.ts';
export type { StepOutcome } from './engine/turn/step.ts';
export type { StopOutcome } from './engine/verbs/stop.ts';
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

// The page
export { createWebHandler } from './web/routes/create-web-handler.ts';
export { engineActions, type EngineActionsOptions } from './web/engine-actions.ts';
export type { WebActions } from './web/site.ts';
export type { LoginSecret, WebOptions } from './web/site.ts';

// Errors
export { UwfError, type ErrorDetails, type ErrorKind } from './errors.ts';
