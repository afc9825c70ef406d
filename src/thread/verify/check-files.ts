import type { NodeSource, StoredNode } from '../../cas/node-source.ts';
import { getNode } from '../../cas/node-source.ts';
import { keepersOf, PINNED_FOLDER } from '../../cas/pins.ts';
import { readCommit } from '../../git/read.ts';
import type { Repository } from '../../git/repository.ts';
import type { IndexEntry } from '../../cas/index-blob.ts';
import type { ThreadStep } from '../../schema/built-in/thread-step.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { CommitOf } from '../thread-state.ts';
import { expectedFiles, isFree, type Choice } from './expected-files.ts';
import { attempt, type Report } from './finding.ts';
import type { CommitFiles } from './read-files.ts';

/** Checks that every node of a commit's tree lies where its node says, and that none is there or missing beyond that. */
export async function checkFiles(
  repository: Repository,
  commit: ThreadCommit,
  start: CommitOf<'start'>,
  files: CommitFiles,
  nodes: ReadonlyMap<string, StoredNode>,
  source: NodeSource,
  report: Report,
): Promise<void> {
  const expected = await attempt(report, null, () =>
    expectedFiles(commit, start.node, (hash) => getNode(source, hash)),
  );
  if (expected === undefined) return;
  const { paths, choices } = expected;
  const chosen = new Set<Choice>();
  const compact = commit.kind === 'step' ? commit.node.compact : null;
  for (const entry of files.index) {
    const choice = choices.get(entry.path);
    if (choice) chosen.add(choice);
    const wanted = paths.get(entry.path) ?? choice?.hash ?? (entry.path === 'compact.md' ? compact : undefined);
    if (wanted === undefined || wanted === null) checkFree(entry, nodes.get(entry.path), report);
    else if (wanted !== entry.hash) report(entry.path, `it is node ${entry.hash}, the commit's node says ${wanted}`);
  }
  const present = new Set(files.index.map(({ path }) => path));
  for (const [path, hash] of paths) if (!present.has(path)) report(path, `it is missing; it has to be node ${hash}`);
  for (const choice of new Set(choices.values())) {
    if (!chosen.has(choice)) report(null, `none of ${choice.paths.join(', ')} holds node ${choice.hash}`);
  }
  await checkWorkspace(repository, commit.kind === 'step' ? commit.node : undefined, files, report);
  checkPinned(files, nodes.values(), report);
}

function checkFree(entry: IndexEntry, node: StoredNode | undefined, report: Report): void {
  // A node that could not be read has been reported as that.
  if (node !== undefined && !isFree(entry, node)) report(entry.path, 'nothing accounts for a file of this name');
}

async function checkWorkspace(
  { objects }: Repository,
  step: ThreadStep | undefined,
  { workspace }: CommitFiles,
  report: Report,
): Promise<void> {
  const wanted = step?.workspace?.tree;
  if (wanted === workspace) return;
  const checkedOut = step?.workspace?.commit;
  if (workspace === undefined && checkedOut !== undefined) {
    // The files could not be recorded: what is named is then what was checked out.
    const commit = await attempt(report, 'workspace', () => readCommit(objects, checkedOut));
    if (commit === undefined || commit.tree === wanted) return;
  }
  report('workspace', `it is ${workspace ?? 'not there'}, the commit's node says ${wanted ?? 'that there is none'}`);
}

/** Checks that what artifacts pin is kept, and nothing else. */
function checkPinned({ pinned }: CommitFiles, nodes: Iterable<StoredNode>, report: Report): void {
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
