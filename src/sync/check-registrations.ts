import { prepareHashing } from '../cas/hash.ts';
import type { StoredNode } from '../cas/node-source.ts';
import { typePath } from '../cas/scratch.ts';
import type { Patience } from '../engine/patience.ts';
import type { Commit } from '../git/commit.ts';
import { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit, readTree } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';
import { checkNodes } from '../thread/verify/check-nodes.ts';
import { attempt, firstFinding, type Report } from '../thread/verify/finding.ts';
import { KnownNodes, NodeCache } from '../thread/verify/known-nodes.ts';
import { readFiles } from '../thread/verify/read-files.ts';
import { loadWorkflow } from '../workflow/load-workflow.ts';
import { validateWorkflow } from '../workflow/validate-workflow.ts';
import { writeWorkflowTree } from '../workflow/write-workflow-tree.ts';
import type { CarriedObjects } from './carried-objects.ts';

/** More versions than any workflow has. */
const MAX_REGISTRATIONS = 10_000;
const WORKFLOW_FILE = 'workflow/workflow.json';

/** Checks what came as the registry of a workflow: each new commit on it, as `uwf workflow add` would have made it. */
export class Registrations {
  readonly #repository: Repository;
  readonly #carried: CarriedObjects;
  readonly #patience: Patience;
  readonly #isVerified: (id: ObjectId) => Promise<boolean>;
  readonly #cache: NodeCache;

  constructor(
    repository: Repository,
    carried: CarriedObjects,
    patience: Patience,
    isVerified: (id: ObjectId) => Promise<boolean>,
  ) {
    this.#repository = repository;
    this.#carried = carried;
    this.#patience = patience;
    this.#isVerified = isVerified;
    this.#cache = new NodeCache(repository);
  }

  /** Checks all versions behind a head that are new. @returns the first thing that is wrong; `undefined` if nothing is */
  async check(name: string, head: ObjectId): Promise<string | undefined> {
    await prepareHashing();
    const waiting = [head];
    const met = new Set(waiting);
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const commitId = id;
      if (await this.#isVerified(commitId)) continue;
      const { report, reason } = firstFinding(commitId);
      const commit = await attempt(report, null, () => readCommit(this.#repository.objects, commitId));
      if (commit) await attempt(report, null, () => this.#checkVersion(name, commitId, commit, report));
      const wrong = reason();
      if (wrong !== undefined) return wrong;
      const more = (commit?.parents ?? []).filter((parent) => !met.has(parent));
      for (const parent of more) met.add(parent);
      waiting.push(...more);
      if (met.size > MAX_REGISTRATIONS) return `it has more than ${MAX_REGISTRATIONS} new versions`;
    }
    return undefined;
  }

  async #checkVersion(name: string, id: ObjectId, { tree }: Commit, report: Report): Promise<void> {
    await this.#carried.checkHeader(id, report);
    const { index, workspace, pinned } = await readFiles(this.#repository, tree, report);
    const entry = index.find(({ path }) => path === WORKFLOW_FILE);
    if (entry === undefined) return report(null, 'it holds no workflow');
    const known = new KnownNodes(this.#repository, this.#cache);
    const nodes = new Map<string, StoredNode>();
    for (const line of index) {
      const isExpected = line.path.startsWith('workflow/') || line.path === typePath(line.hash);
      if (!isExpected) report(line.path, 'nothing accounts for a file of this name');
      const node = await attempt(report, line.path, () => known.add(line));
      if (node) nodes.set(line.path, node);
    }
    if (workspace !== undefined || pinned.length > 0) report(null, 'it holds what no workflow has');
    await checkNodes(nodes, known, new Set(), report);
    const definition = await attempt(report, WORKFLOW_FILE, () => loadWorkflow(known, entry.hash));
    if (definition === undefined) return;
    if (definition.name !== name) report(WORKFLOW_FILE, `it is the workflow '${definition.name}', not '${name}'`);
    const { diagnostics } = await validateWorkflow(definition);
    const mistake = diagnostics.find(({ severity }) => severity === 'error');
    if (mistake) return report(WORKFLOW_FILE, `${mistake.path}: ${mistake.message}`);
    const folder = (await readTree(this.#repository.objects, tree)).find((item) => item.name === 'workflow');
    const expected = writeWorkflowTree(new ObjectBatch(this.#repository.objects.format), definition).tree;
    if (folder?.id !== expected) report('workflow', `it is ${folder?.id}; stored anew the workflow is ${expected}`);
    const fault = await this.#patience.faultOf(entry.hash, definition);
    if (fault !== undefined) report(WORKFLOW_FILE, fault);
  }
}
