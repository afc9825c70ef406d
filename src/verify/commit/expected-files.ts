import type { NodeHash } from '../../cas/hash.ts';
import type { IndexEntry } from '../../cas/index-blob.ts';
import type { Node } from '../../cas/node.ts';
import { pathName } from '../../cas/path-name.ts';
import { artifactPath, typePath } from '../../cas/scratch.ts';
import { builtIn } from '../../schema/built-in.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { findCasRefs } from '../../schema/links/find-links.ts';
import { COMPACT_FILE } from '../../thread/context/compaction.ts';
import type { ThreadCommitKind, ThreadEvent } from '../../thread/thread-commit.ts';
import { TRACE_FOLDER, turnFolder } from '../../thread/step-trace.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { storedBlockSchemas } from '../../workflow/nodes/stored-blocks.ts';

/** The nodes that a tree has to contain, by path; and nodes with several possible paths, by each of them. */
export type ExpectedFiles = { paths: Map<string, NodeHash>; choices: Map<string, Choice> };

/** A node that has to be at one of several paths. */
export type Choice = { paths: readonly string[]; hash: NodeHash };

/** Reads a node that a node links to. */
export type ReadNode = (hash: NodeHash) => Promise<Node>;

/**
 * Computes the nodes that the tree of a thread's commit has to contain, from the commit's node and the nodes it links to.
 * Artifacts and their types are not included: see {@link isFree}.
 *
 * @throws {NodeNotFound} if a node that has to be read is missing
 */
export async function expectedFiles(
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
 *
 * @param linked all hashes that nodes of the tree link to
 */
export function isFree(
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
