/**
 * uwf: a workflow engine for AI agents that lives inside any git repository.
 *
 * Nothing here prints, exits, or reads the environment or the home directory: repository, configuration, environment,
 * signals and the person at the terminal are handed in.
 */
import { isNodeHash, parseNodeHash, prepareHashing, type NodeHash } from './cas/hash.ts';
import { type NodesOf, sourceOf, walk as walkNodes, type WalkedNode, type WalkOptions } from './schema/links.ts';
import { getNode as getNodeOf, type StoredNode } from './cas/node.ts';
import { getThread } from './thread/find-thread.ts';
import { nodesOfThread } from './thread/thread-cas.ts';

// So that `hashNode` and all that hashes can be called without waiting.
await prepareHashing();

// Repositories
export { openRepository } from './git/open-repository.ts';
export { openPortableRepository } from './git/stores/portable/open-portable-repository.ts';
export type { Repository } from './git/repository.ts';

// Nodes, their schemas and links
export { hashNode, parseNodeHash, type NodeHash } from './cas/hash.ts';
export type { JsonObject } from './json.ts';
export { collectRefs } from './schema/find-links.ts';
export { putNode, putSchema } from './schema/put.ts';
export { validate } from './schema/validate.ts';

/**
 * Reads a node, from a repository or another source of nodes.
 * @throws {NodeNotFound} if it is not there
 */
export function getNode(nodes: NodesOf, hash: NodeHash): Promise<StoredNode> {
  return getNodeOf(sourceOf(nodes), hash);
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

async function rootsOf(nodes: NodesOf, texts: readonly string[]): Promise<NodeHash[]> {
  const roots: NodeHash[] = [];
  for (const text of texts) {
    if (isNodeHash(text) || 'find' in nodes) roots.push(parseNodeHash(text));
    else for (const hash of await nodesOfThread(nodes, (await getThread(nodes, text)).head)) roots.push(hash);
  }
  return roots;
}

// Workflows
export type { WorkflowDefinition } from './workflow/definition.ts';
export { formatDiagnostic, type Diagnostic } from './workflow/source/source-map.ts';
export { listWorkflows } from './workflow/registry/find-workflow.ts';
export { loadWorkflow } from './workflow/nodes.ts';
export { loadWorkflowFile } from './workflow/load/resolve-workflow.ts';
export { registerWorkflow } from './workflow/registry/find-workflow.ts';
export { resolveWorkflow } from './workflow/load/resolve-workflow.ts';
export { validateWorkflow } from './workflow/check/validate-workflow.ts';
export { decide } from './moderator/decide.ts';

// Threads
export { diffThreads } from './thread/step-files.ts';
export { forkThread } from './thread/thread-verbs.ts';
export { branchThread, mergeThread } from './thread/code/merge-thread.ts';
export { findCode } from './thread/code/thread-code.ts';
export { exportThread } from './thread/export-thread.ts';
export { getThread } from './thread/find-thread.ts';
export { removeThread } from './thread/remove-thread.ts';
export { parseThreadId, type ThreadId } from './thread/thread-id.ts';
export { readThread } from './thread/thread-chain.ts';
export { verifyThread } from './verify/verify-threads.ts';
export { importThread } from './engine/verbs/import-thread.ts';
export { simulateThread } from './engine/verbs/simulate.ts';

// Sharing threads with other repositories
export { openRemote } from './git/transport/open-remote.ts';
export { fetchThreads } from './sync/fetch-threads.ts';
export { listRemoteThreads } from './sync/shared-refs.ts';
export { pushThreads } from './sync/push-threads.ts';
export { removeRemoteThread } from './sync/remove-remote-thread.ts';
export { syncThreads } from './sync/push-threads.ts';

// The engine, and the agents it runs
export { createEngine, type Engine } from './engine/engine.ts';
export { loadConfig, type Config } from './engine/config/config.ts';
export type { EngineOptions } from './engine/engine-context.ts';
export type { ThreadView } from './engine/describe/describe.ts';
export type { EngineEvent } from './engine/events.ts';
export type {
  Agent,
  AgentEvent,
  AgentPackage,
  AgentReply,
  AgentRequest,
  PackageDescriptor,
  Usage,
} from './agent/contract.ts';

// The page
export { createWebHandler } from './web/routes/create-web-handler.ts';
export { engineActions } from './web/engine-actions.ts';

// Errors
export { UwfError } from './errors.ts';
