import type { NodeSource, StoredNode } from '../../cas/node-source.ts';
import { getNode } from '../../cas/node-source.ts';
import { keepersOf, PINNED_FOLDER } from '../../cas/pins.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { isArtifact } from '../../cas/scratch.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { builtIn } from '../../schema/built-in.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import { readSnapshot, WORKSPACE } from '../../thread/step-files.ts';
import { expectedFiles, isFree, type Choice } from './expected-files.ts';
import { attempt, type ReportFault } from '../fault.ts';
import type { CommitFiles } from './read-files.ts';

/**
 * Checks that the commit's tree contains the nodes that the commit's node implies, each at its path, and no other.
 *
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
