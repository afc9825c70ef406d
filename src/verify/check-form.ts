import { type IndexEntry, readCommitNodes } from '../cas/commit-nodes.ts';
import { isNodeHash, type NodeHash } from '../cas/hash.ts';
import { getNode, type Node, type NodeSource, type StoredNode } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import { keepersOf, PINNED_FOLDER } from '../cas/node-tree.ts';
import { artifactPath, isArtifact, typePath } from '../cas/scratch.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import type { JsonValue } from '../json.ts';
import { builtIn, payloadOf } from '../schema/built-in.ts';
import type { ThreadStart } from '../schema/built-in/thread-start.ts';
import { findCasRefs } from '../schema/find-links.ts';
import { nodeOfMessage } from '../thread/commit-message.ts';
import { COMPACT_FILE } from '../thread/append-step.ts';
import { readSnapshot, WORKSPACE } from '../thread/step-files.ts';
import { TRACE_FOLDER, turnFolder } from '../thread/step-trace.ts';
import { findEventFile, type ThreadCommit, type ThreadCommitKind, type ThreadEvent } from '../thread/thread-commit.ts';
import { storedBlockSchemas } from '../workflow/stored-blocks.ts';
import { attempt, type ReportFault } from './find-chain.ts';
import { type CommitFiles, type NodeCache, readChecked } from './read-checked.ts';

export type Form = {
  commit: ThreadCommit;
  /** The nodes of its tree by path. */
  nodes: ReadonlyMap<string, StoredNode>;
  threads: readonly ObjectId[];
  code: readonly ObjectId[];
};

/**
 * Checks the form of one commit: every object of its tree is listed in the index, has the hash that the index says, and is at
 * the path that the commit's node implies; every parent is named by a node; the message names the commit's node.
 *
 * Does not read the commits before, so the cost does not depend on the length of the thread. The repository that fetches the
 * thread checks the order of commits and the decisions.
 * @returns `undefined` if it is no commit of a thread, which has been reported
 */
export async function checkForm(cache: NodeCache, id: ObjectId, report: ReportFault): Promise<Form | undefined> {
  const { repository } = cache;
  const checked = await readChecked(cache, id, report);
  if (checked === undefined) return undefined;
  const { commit, files, fault } = checked;
  if (fault !== undefined) report(null, fault);
  if (nodeOfMessage(commit.commit.message) !== commit.hash) report(null, 'its message does not name its node');
  const nodes = new Map<string, StoredNode>();
  const byHash = new Map<NodeHash, StoredNode>();
  const named = new Set<NodeHash>();
  for (const entry of files.index) {
    const node = await attempt(report, entry.path, () => cache.read(entry));
    if (node === undefined) continue;
    nodes.set(entry.path, node);
    byHash.set(node.hash, node);
    addHashes(node.payload, named);
  }
  const source: NodeSource = { find: (hash) => Promise.resolve(byHash.get(hash)) };
  await checkFiles(repository, commit, { node: agentsFor(commit) }, files, nodes, source, named, report);
  return { commit, nodes, ...(await sortParents(repository, commit, nodes, named, report)) };
}

/** What the start says about agents: a step without its own `agent.json` has the agent that the start names. */
function agentsFor(commit: ThreadCommit): Pick<ThreadStart, 'agents'> {
  if (commit.kind === 'start') return commit.node;
  const isWithStep = commit.kind === 'step' && !commit.index.some(({ path }) => path === 'agent.json');
  return { agents: isWithStep ? { [commit.node.role]: commit.node.agent } : {} };
}

/** Sorts the parents into commits of threads and commits of the user's code. Each has to be named by a node. */
async function sortParents(
  repository: Repository,
  commit: ThreadCommit,
  nodes: ReadonlyMap<string, StoredNode>,
  named: ReadonlySet<NodeHash>,
  report: ReportFault,
): Promise<Pick<Form, 'threads' | 'code'>> {
  const { parents } = commit.commit;
  if (new Set(parents).size < parents.length) report(null, 'it names a parent twice');
  const isStart = commit.kind === 'start';
  const isFirst = isStart && commit.node.parentThread === null;
  const before = isFirst ? undefined : parents[0];
  const further = isFirst ? parents : parents.slice(1);
  if (!isFirst && before === undefined) report(null, 'it has no parent');
  const ofCode = new Set(codeCommits(commit, nodes.values()));
  const threads = before === undefined ? [] : [before];
  const code: ObjectId[] = [];
  for (const id of further) {
    if (ofCode.has(id)) {
      code.push(id);
      continue;
    }
    const behind = await attempt(report, null, () => readCommitNodes(repository, id));
    const node = findEventFile(behind?.entries ?? [])?.file;
    if (node !== undefined && named.has(node.hash) && !isStart) threads.push(id);
    else report(null, `nothing accounts for its parent ${id}`);
  }
  return { threads, code };
}

function addHashes(value: JsonValue, found: Set<NodeHash>): void {
  if (isNodeHash(value)) found.add(value);
  else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) addHashes(part, found);
}

/** The commits of the user's code that a commit keeps. */
export function codeCommits(commit: ThreadCommit, nodes: Iterable<StoredNode>): ObjectId[] {
  const named =
    commit.kind === 'step' ? commit.node.workspace?.commit : commit.kind === 'start' ? commit.node.base : undefined;
  const pinned = keepersOf(nodes).parents;
  return named === undefined ? pinned : [named, ...pinned];
}

/**
 * Checks that the commit's tree contains the nodes that the commit's node implies, each at its path, and no other.
 * @param linked all hashes that nodes of the tree link to
 */
export async function checkFiles(
  repository: Repository,
  commit: ThreadCommit,
  start: { node: Pick<ThreadStart, 'agents'> },
  files: CommitFiles,
  nodes: ReadonlyMap<string, StoredNode>,
  source: NodeSource,
  linked: ReadonlySet<NodeHash>,
  report: ReportFault,
): Promise<void> {
  const expected = await attempt(report, null, () =>
    expectedFiles(commit, start.node, (hash) => getNode(source, hash)),
  );
  if (expected === undefined) return;
  const { paths, choices } = expected;
  const chosen = new Set<Choice>();
  // A content that was not fetched yet may link to anything.
  const isWhole = files.index.every(({ path }) => nodes.has(path));
  for (const entry of files.index) {
    const choice = choices.get(entry.path);
    // Under one of its possible names, not under two.
    const wanted = paths.get(entry.path) ?? (choice && !chosen.has(choice) ? choice.hash : undefined);
    if (choice) chosen.add(choice);
    if (wanted === undefined) {
      const node = nodes.get(entry.path);
      // A node that could not be read has been reported.
      const mayBe = node === undefined || isFree(entry, node, commit.kind, isWhole ? linked : new Set([entry.hash]));
      if (!mayBe) report(entry.path, 'nothing accounts for a file of this name');
    } else if (wanted !== entry.hash) report(entry.path, `it is node ${entry.hash}, the commit's node says ${wanted}`);
  }
  const present = new Set(files.index.map(({ path }) => path));
  for (const [path, hash] of paths) if (!present.has(path)) report(path, `it is missing; it has to be node ${hash}`);
  for (const choice of new Set(choices.values())) {
    if (!chosen.has(choice)) report(null, `none of ${choice.paths.join(', ')} holds node ${choice.hash}`);
  }
  await attempt(report, 'output.md', async () => checkReplyRefs(commit, files, nodes, report));
  await checkWorkspace(repository, commit, report);
  checkPinned(files, nodes.values(), report);
}

/** Checks that the reply of a step refers only to artifacts of the same tree, each once. */
function checkReplyRefs(
  commit: ThreadCommit,
  files: CommitFiles,
  nodes: ReadonlyMap<string, StoredNode>,
  report: ReportFault,
): void {
  const reply = commit.kind === 'step' ? nodes.get('output.md') : undefined;
  if (reply === undefined || reply.type !== builtIn.content) return;
  const put = new Set(files.index.filter(isArtifact).map(({ hash }) => hash));
  const { refs = [] } = payloadOf(reply, 'content');
  for (const hash of refs) {
    if (!put.delete(hash)) report('output.md', `it refers to ${hash}, which is not among its artifacts, or twice`);
  }
}

/** Checks what a step recorded of its files: a snapshot, or the commit that was checked out if they could not be recorded. */
async function checkWorkspace(
  { objects }: Repository,
  { kind, node, commit: step }: ThreadCommit,
  report: ReportFault,
): Promise<void> {
  const workspace = kind === 'step' ? node.workspace : undefined;
  if (workspace === undefined) return;
  const { tree, commit } = workspace;
  await attempt(report, WORKSPACE, async () => {
    const snapshot = await readSnapshot(objects, commit, step);
    const recorded = snapshot ?? (await readCommit(objects, commit));
    if (recorded.tree !== tree) report(WORKSPACE, `it is ${recorded.tree}, the commit's node says ${tree}`);
    if (snapshot === undefined) return;
    if (!snapshot.isOfCommitter) report(WORKSPACE, 'its committer is not that of the step');
    if (step.parents.at(-1) !== commit) report(WORKSPACE, 'it is not the last parent of the step');
  });
}

/** Checks that `pinned/` contains the objects that artifacts pin, and no other. */
function checkPinned({ pinned }: CommitFiles, nodes: Iterable<StoredNode>, report: ReportFault): void {
  const wanted = new Map(keepersOf(nodes).entries.map((entry) => [entry.path, entry]));
  for (const { name, mode, id } of pinned) {
    const path = `${PINNED_FOLDER}/${name}`;
    const entry = wanted.get(path);
    wanted.delete(path);
    if (entry === undefined) report(path, 'no artifact pins it');
    else if (entry.id !== id || entry.mode !== mode) report(path, `it is ${id}, and the artifact says ${entry.id}`);
  }
  for (const path of wanted.keys()) report(path, 'an artifact pins it, and it is not there');
}

/** The nodes that a tree has to contain, by path; and nodes with several possible paths, by each of them. */
type ExpectedFiles = { paths: Map<string, NodeHash>; choices: Map<string, Choice> };

type Choice = { paths: readonly string[]; hash: NodeHash };

type ReadNode = (hash: NodeHash) => Promise<Node>;

/**
 * Computes the nodes that the tree of a thread's commit has to contain, from the commit's node and the nodes it links to.
 * Artifacts and their types are not included: see {@link isFree}.
 */
async function expectedFiles(
  event: ThreadEvent & { hash: NodeHash },
  start: Pick<ThreadStart, 'agents'>,
  read: ReadNode,
): Promise<ExpectedFiles> {
  const files = new Expected(read);
  files.add(`${event.kind}.json`, event.hash);
  const { node } = event;
  switch (event.kind) {
    case 'start':
      await files.addStart(event.node);
      break;
    case 'step':
      files.add('output.md', event.node.content);
      files.add(COMPACT_FILE, event.node.compact);
      if (start.agents[event.node.role] !== event.node.agent) files.add('agent.json', event.node.agent);
      break;
    case 'suspend':
      files.add('output.md', event.node.content);
      files.add('agent.json', event.node.agent);
      break;
    case 'resume':
      files.add('answer.md', event.node.answer);
      break;
    case 'end':
      files.add('summary.md', event.node.summary);
  }
  if ('prompt' in node) files.add('prompt.md', node.prompt);
  if ('attempts' in node) await files.addAttempts(node.attempts);
  if ('react' in node && node.react !== null) await files.addTrace(node.react);
  return files;
}

/**
 * Tells whether a node may be at a path that no field names: an artifact or a copied node that a node of the tree links to,
 * the schema of a type, and in a step a node that was put with an artifact, which stays if the artifact is deleted.
 * @param linked all hashes that nodes of the tree link to
 */
function isFree(
  { path, hash }: IndexEntry,
  node: Node,
  kind: ThreadCommitKind,
  linked: ReadonlySet<NodeHash>,
): boolean {
  if (path === typePath(hash)) return true;
  if (path === `linked/${hash}.json`) return kind === 'step';
  return path === artifactPath({ ...node, hash }) && linked.has(hash);
}

class Expected implements ExpectedFiles {
  readonly paths = new Map<string, NodeHash>();
  readonly choices = new Map<string, Choice>();
  readonly #read: ReadNode;

  constructor(read: ReadNode) {
    this.#read = read;
  }

  add(path: string, hash: NodeHash | null): void {
    if (hash !== null) this.paths.set(path, hash);
  }

  async addStart(start: ThreadStart): Promise<void> {
    for (const type of Object.values(builtIn)) this.add(typePath(type), type);
    await this.#addWorkflow('workflow', start.workflow);
    for (const [role, hash] of Object.entries(start.agents)) {
      this.add(`agents/${pathName(role)}.json`, hash);
      const agent = payloadOf(await this.#read(hash), 'agent');
      for (const child of findCasRefs(agent.config)) await this.#addWorkflow(`children/${pathName(role)}`, child);
    }
  }

  async #addWorkflow(folder: string, hash: NodeHash): Promise<void> {
    const node = await this.#read(hash);
    if (node.type !== builtIn.workflow) return;
    this.add(`${folder}/workflow.json`, hash);
    const workflow = payloadOf(node, 'workflow');
    for (const [name, schema] of storedBlockSchemas(workflow))
      this.add(`${folder}/schemas/${pathName(name)}.json`, schema);
    for (const [name, role] of Object.entries(workflow.roles)) {
      this.add(`${folder}/roles/${pathName(name)}.json`, role);
      this.add(`${folder}/schemas/${pathName(name)}.json`, payloadOf(await this.#read(role), 'role').schema);
    }
  }

  async addAttempts(attempts: readonly NodeHash[]): Promise<void> {
    for (const [place, hash] of attempts.entries()) {
      const folder = `attempts/${String(place + 1).padStart(2, '0')}`;
      this.add(`${folder}/attempt.json`, hash);
      this.add(`${folder}/output.md`, payloadOf(await this.#read(hash), 'attempt').content);
    }
  }

  async addTrace(hash: NodeHash): Promise<void> {
    this.add(`${TRACE_FOLDER}/session.json`, hash);
    const session = payloadOf(await this.#read(hash), 'react-session');
    for (const [place, turn] of session.turns.entries()) await this.#addTurn(turnFolder(place + 1), turn);
  }

  async #addTurn(folder: string, hash: NodeHash): Promise<void> {
    const turn = payloadOf(await this.#read(hash), 'react-turn');
    this.add(`${folder}/turn.json`, hash);
    this.add(`${folder}/input.md`, turn.input);
    this.add(`${folder}/output.md`, turn.output);
    for (const [place, part] of (turn.parts ?? []).entries()) {
      this.#choose(
        ['thought', 'plan', 'refusal', 'note'].map((kind) => `${folder}/parts/${place + 1}-${kind}.md`),
        part,
      );
    }
    for (const [place, call] of turn.toolCalls.entries()) {
      const { name, arguments: told, result } = payloadOf(await this.#read(call), 'react-tool-call');
      const path = `${folder}/calls/${place + 1}-${pathName(name)}`;
      this.add(`${path}.json`, call);
      this.add(`${path}.arguments.md`, told);
      this.#choose([`${path}.error.md`, `${path}.result.md`], result);
    }
  }

  #choose(paths: readonly string[], hash: NodeHash): void {
    const choice: Choice = { paths, hash };
    for (const path of paths) this.choices.set(path, choice);
  }
}
