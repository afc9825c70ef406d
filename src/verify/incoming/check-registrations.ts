import { prepareHashing } from '../../cas/hash.ts';
import { typePath } from '../../cas/scratch.ts';
import type { TimeBudget } from '../replay/time-budget.ts';
import type { Commit } from '../../git/format/commit.ts';
import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit, readTree } from '../../git/stores/read.ts';
import { checkNodes } from '../commit/check-nodes.ts';
import { attempt, firstFault, type ReportFault } from '../fault.ts';
import { KnownNodes, type NodeCache } from '../chain/known-nodes.ts';
import { readFiles } from '../commit/read-files.ts';
import { loadWorkflow } from '../../workflow/nodes/load-workflow.ts';
import { validateWorkflow } from '../../workflow/check/validate-workflow.ts';
import { writeWorkflowTree } from '../../workflow/nodes/encode-workflow.ts';

/** A registry with more new versions is refused. */
const MAX_REGISTRATIONS = 10_000;
const WORKFLOW_FILE = 'workflow/workflow.json';

/** What the registries of one fetch are checked with. */
export type RegistryCheck = {
  budget: TimeBudget;
  cache: NodeCache;
  /** Tells a commit of a registry that was verified before, with its history. */
  isVerified: (id: ObjectId) => Promise<boolean>;
};

/**
 * Checks all new versions of a workflow that the head of its registry reaches: each commit has to be as `uwf workflow add`
 * makes it.
 * @returns the first fault, or `undefined`
 */
export async function checkRegistry(check: RegistryCheck, name: string, head: ObjectId): Promise<string | undefined> {
  await prepareHashing();
  const waiting = [head];
  const met = new Set(waiting);
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const commitId = id;
    if (await check.isVerified(commitId)) continue;
    const { report, reason } = firstFault(commitId);
    const commit = await attempt(report, null, () => readCommit(check.cache.repository.objects, commitId));
    if (commit) await attempt(report, null, () => checkVersion(check, name, commit, report));
    const wrong = reason();
    if (wrong !== undefined) return wrong;
    const more = (commit?.parents ?? []).filter((parent) => !met.has(parent));
    for (const parent of more) met.add(parent);
    waiting.push(...more);
    if (met.size > MAX_REGISTRATIONS) return `it has more than ${MAX_REGISTRATIONS} new versions`;
  }
  return undefined;
}

async function checkVersion(
  { budget, cache }: RegistryCheck,
  name: string,
  { tree }: Commit,
  report: ReportFault,
): Promise<void> {
  const { repository } = cache;
  const { index, pinned } = await readFiles(repository, tree, report);
  const entry = index.find(({ path }) => path === WORKFLOW_FILE);
  if (entry === undefined) return report(null, 'it holds no workflow');
  const known = new KnownNodes(cache);
  for (const { path, hash } of index) {
    const isExpected = path.startsWith('workflow/') || path === typePath(hash);
    if (!isExpected) report(path, 'nothing accounts for a file of this name');
  }
  const nodes = await known.addAll(index, report);
  if (pinned.length > 0) report(null, 'it holds what no workflow has');
  await checkNodes(nodes, known, new Set(), report);
  const definition = await attempt(report, WORKFLOW_FILE, () => loadWorkflow(known, entry.hash));
  if (definition === undefined) return;
  if (definition.name !== name) report(WORKFLOW_FILE, `it is the workflow '${definition.name}', not '${name}'`);
  const { diagnostics } = await validateWorkflow(definition);
  const mistake = diagnostics.find(({ severity }) => severity === 'error');
  if (mistake) return report(WORKFLOW_FILE, `${mistake.path}: ${mistake.message}`);
  const folder = (await readTree(repository.objects, tree)).find((item) => item.name === 'workflow');
  const expected = writeWorkflowTree(new ObjectBatch(repository.objects.format), definition).tree;
  if (folder?.id !== expected) report('workflow', `it is ${folder?.id}; stored anew the workflow is ${expected}`);
  const fault = await budget.faultOf(entry.hash, definition);
  if (fault !== undefined) report(WORKFLOW_FILE, fault);
}
