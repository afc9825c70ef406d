import { canonicalJson } from '../cas/canonical.ts';
import type { NodeHash } from '../cas/hash.ts';
import { getNode, NodeNotFound, type NodeSource, type StoredNode } from '../cas/node.ts';
import { encodeCommit, parseCommit } from '../git/format/objects.ts';
import { alone, type ObjectId } from '../git/format/object-id.ts';
import type { Identity, Repository } from '../git/repository.ts';
import { iso } from '../time/clock.ts';
import { keysOf } from '../json.ts';
import { MAX_ANCESTORS } from '../schema/built-in/thread-step.ts';
import { addUsage, type Usage } from '../schema/built-in/schema-parts.ts';
import { linksOf } from '../schema/links.ts';
import { payloadOf } from '../schema/built-in.ts';
import { findErrors } from '../schema/validate.ts';
import { type Beside, messageOfCommit, nextOfMessage } from '../thread/commit-message.ts';
import { callIdFor } from '../thread/new-thread-id.ts';
import { authorOf, roleOf, textNodeOf, textPaths, type ThreadCommit, timeOfCommit } from '../thread/thread-commit.ts';
import { MAX_ID_TIME_MS, parseThreadId } from '../thread/thread-id.ts';
import { type CommitOf, type Tally, totalsOf } from '../thread/thread-state.ts';
import { checkBranch, checkPins } from './check-block.ts';
import { checkFiles, codeCommits } from './check-form.ts';
import { attempt, isThreadCommit, type ReportFault } from './find-chain.ts';
import type { CheckedCommit } from './read-checked.ts';
import type { Replay } from './replay.ts';
import type { CommitPlace, ThreadProgress } from './thread-progress.ts';

type CheckBasis = {
  start: CommitOf<'start'>;
  /** The thread up to the commit; `undefined` for its start. */
  before: { progress: ThreadProgress; replay: Replay; tally: Tally } | undefined;
  /** The caller's commit, which is the parent of a child's start. */
  caller: CommitPlace | undefined;
  threads: ReadonlyMap<ObjectId, CommitPlace>;
};

/**
 * Checks one commit of a thread against the format. Assumes that the commits before it are sound.
 * @param nodes the nodes of its tree that could be read, by path
 * @param known all nodes that it may link to
 * @param sound as in {@link checkNodes}
 */
export async function checkCommit(
  repository: Repository,
  { commit, files, fault }: CheckedCommit,
  { start, before, caller, threads }: CheckBasis,
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
  sound: Set<string>,
  report: ReportFault,
): Promise<void> {
  if (fault !== undefined) report(null, fault);
  const linked = await checkNodes(nodes, known, sound, report);
  await checkFiles(repository, commit, start, files, nodes, known, linked, report);
  await checkTrace(commit, known, report);
  const beside = await attempt(report, null, () => besideOf(commit, nodes, known));
  if (beside !== undefined) checkMessage(commit, beside, before?.progress.head, report);
  if (commit.kind === 'start') {
    checkCaller(commit, caller, report);
    await attempt(report, 'start.json', () => checkBranch(repository, commit, caller, report));
    await attempt(report, null, async () => checkPins(nodes, report));
    await checkBase(repository, commit, report);
  } else if (before) {
    const { progress, replay, tally } = before;
    checkOrder(commit, progress, report);
    checkTotals(commit, tally, report);
    checkParents(commit, progress, threads, linked, nodes.values(), report);
    if (commit.kind === 'step') checkChildUsage(commit, threads, report);
    for (const what of (await attempt(report, null, () => replay.check(progress, commit, known, threads))) ?? []) {
      report(`${commit.kind}.json`, what);
    }
  }
}

/** Checks that a start has no other parents than its caller and its base, which is a commit of the user's code. */
async function checkBase(repository: Repository, start: CommitOf<'start'>, report: ReportFault): Promise<void> {
  const { base, parentThread } = start.node;
  const further = parentThread === null ? start.commit.parents : start.commit.parents.slice(1);
  for (const id of further) if (id !== base) report(null, `nothing accounts for its parent ${id}`);
  if (base === undefined) return;
  if (!further.includes(base)) report('start.json', `its base ${base} is no parent of it`);
  else if (await isThreadCommit(repository, base)) report('start.json', `its base ${base} is a commit of a thread`);
}

/**
 * Reads what the message of a commit tells beside its node.
 * @returns `undefined` if a node is missing, which has been reported
 */
async function besideOf(
  commit: ThreadCommit,
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
): Promise<Beside | undefined> {
  const content = nodes.get(textPaths[commit.kind]);
  if (content === undefined && textNodeOf(commit) !== null) return undefined;
  const text = content === undefined ? '' : payloadOf(content, 'content').text;
  switch (commit.kind) {
    case 'start': {
      const workflow = await known.find(commit.node.workflow);
      return workflow && { text, workflow: payloadOf(workflow, 'workflow').name };
    }
    case 'step':
    case 'suspend': {
      const agent = await known.find(commit.node.agent);
      // Whether it is so, the rules say.
      const next = commit.kind === 'step' ? nextOfMessage(commit.commit.message) : undefined;
      return agent && { text, agent: payloadOf(agent, 'agent'), next };
    }
    case 'resume':
      return { text };
    case 'end': {
      if (commit.node.lastStep === null) return { text };
      const last = await known.find(commit.node.lastStep);
      if (last === undefined) return undefined;
      const { content: said, agent: hash, meta } = payloadOf(last, 'thread-step');
      const [reply, agent] = [await known.find(said), await known.find(hash)];
      if (reply === undefined || agent === undefined) return undefined;
      const isSummedUp = payloadOf(reply, 'content').text === text;
      return { text, ...(isSummedUp && { last: { agent: payloadOf(agent, 'agent'), meta } }) };
    }
  }
}

/** Checks that the trace of a turn is that of its role and agent, and that its tokens are those of its turns. */
async function checkTrace(commit: ThreadCommit, known: NodeSource, report: ReportFault): Promise<void> {
  if (commit.kind !== 'step' && commit.kind !== 'suspend') return;
  const { react, role, agent } = commit.node;
  if (react === null) return;
  await attempt(report, 'trace/session.json', async () => {
    const session = payloadOf(await getNode(known, react), 'react-session');
    if (session.role !== role || session.agent !== agent) {
      report('trace/session.json', 'it is the trace of another role or agent');
    }
    let tokens = 0;
    for (const hash of session.turns) {
      const turn = payloadOf(await getNode(known, hash), 'react-turn');
      tokens += turn.tokens.input + turn.tokens.output;
    }
    if (session.totalTokens !== tokens) report('trace/session.json', `its turns took ${tokens} tokens in all`);
  });
}

/** So much of a total is shown in a fault, in characters. */
const MAX_SHOWN = 200;

/** A field that is compared, and written as it is in a fault. */
type Field = string | number | boolean | null;

/**
 * Checks what a commit's node says about the commits before it: the start, the previous step, its number and ancestors, the
 * suspension that it answers, the last step before an end.
 * @param before the thread up to the commit, by the chain of parents
 */
function checkOrder(commit: ThreadCommit, before: ThreadProgress, report: ReportFault): void {
  const path = `${commit.kind}.json`;
  const differ = (field: string, is: Field, wanted: Field): void => {
    if (is !== wanted) report(path, `${field} is ${is}, by the commits before it has to be ${wanted}`);
  };
  if (commit.kind === 'start') return;
  differ('start', commit.node.start, before.start.hash);
  const { head, last } = before;
  if (head.kind === 'end') report(null, 'it stands on the end of its thread');
  if (head.kind === 'suspend' && commit.kind !== 'resume' && commit.kind !== 'end') {
    report(null, 'it stands on a suspension that was not resumed');
  }
  switch (commit.kind) {
    case 'step': {
      const { number, previous, ancestors, childThreads } = commit.node;
      if (new Set(childThreads).size < childThreads.length) report(path, 'it names a child thread twice');
      differ('number', number, before.steps + 1);
      differ('previous', previous, last?.hash ?? null);
      const wanted = last ? [last.hash, ...last.ancestors].slice(0, MAX_ANCESTORS) : [];
      differ('ancestors', ancestors.join(' '), wanted.join(' '));
      break;
    }
    case 'suspend':
      differ('previous', commit.node.previous, last?.hash ?? null);
      break;
    case 'resume':
      if (head.kind === 'suspend') differ('suspension', commit.node.suspension, head.hash);
      break;
    case 'end':
      differ('lastStep', commit.node.lastStep, last?.hash ?? null);
      differ('returnCode 0', commit.node.returnCode === 0, commit.node.outcome === 'completed');
  }
}

function checkTotals(commit: ThreadCommit, before: Tally, report: ReportFault): void {
  if (commit.kind === 'start') return;
  const { totals } = commit.node;
  const wanted = totalsOf(before);
  for (const field of keysOf(wanted)) {
    if (canonicalJson(totals[field]) === canonicalJson(wanted[field])) continue;
    const [is, was] = [totals[field], wanted[field]].map((value) => JSON.stringify(value).slice(0, MAX_SHOWN));
    report(`${commit.kind}.json`, `totals.${field} is ${is}, by the commits before it has to be ${was}`);
  }
}

/** Checks what a step says that the children have used whose ends it took in. */
function checkChildUsage(
  { node }: CommitOf<'step'>,
  threads: ReadonlyMap<ObjectId, CommitPlace>,
  report: ReportFault,
): void {
  const ends = new Map([...threads.values()].map((place) => [place.hash, place]));
  const wanted = node.childThreads.reduce<Usage | null>((sum, end) => addUsage(sum, ends.get(end)?.used), null);
  const [is, was] = [node.childUsage ?? null, wanted].map((usage) => canonicalJson(usage));
  if (is !== was) report('step.json', `childUsage is ${is}, by the ends of its child threads it has to be ${was}`);
}

/** Checks what the start of a child thread says about its caller. */
function checkCaller(start: CommitOf<'start'>, caller: CommitPlace | undefined, report: ReportFault): void {
  const { id, parentThread, parentState, parentRole, depth, call } = start.node;
  const differ = (field: string, is: Field, wanted: Field): void => {
    if (is !== wanted) report('start.json', `${field} is ${is}, by its caller it has to be ${wanted}`);
  };
  differ('parentThread', parentThread, caller?.start.hash ?? null);
  differ('parentState', parentState, caller?.state ?? null);
  differ('depth', depth, caller ? caller.start.depth + 1 : 0);
  if ((parentRole === null) !== (caller === undefined)) differ('parentRole', parentRole, caller ? 'a role' : null);
  if (call === undefined) {
    if (caller) report('start.json', 'it has a caller, and does not say which call it is');
    return;
  }
  const place = caller && parentRole !== null && { state: caller.stateAt, role: parentRole };
  if (!place) return report('start.json', 'it is a call, and there is no caller');
  const { thread, key, ordinal = 0, block } = call;
  differ('id', id, callIdFor({ ...place, thread: parseThreadId(thread), key, ordinal, block }));
}

/**
 * Checks the further parents of a commit: the node accounts for each of them, and none that the node requires is missing.
 * @param threads the further parents that are commits of threads
 * @param linked all hashes that nodes of the commit's tree link to
 */
export function checkParents(
  commit: ThreadCommit,
  before: ThreadProgress,
  threads: ReadonlyMap<ObjectId, CommitPlace>,
  linked: ReadonlySet<NodeHash>,
  nodes: Iterable<StoredNode>,
  report: ReportFault,
): void {
  const { parents } = commit.commit;
  if (new Set(parents).size < parents.length) report(null, 'it names a parent twice');
  const code = codeCommits(commit, nodes);
  const further = parents.slice(1);
  const missing = new Set([...hashesAskedFor(commit, before), ...code]);
  for (const id of further) {
    const thread = threads.get(id);
    if (missing.delete(id)) continue;
    // A linked commit of the same chain needs no further parent.
    if (thread && (missing.delete(thread.hash) || (linked.has(thread.hash) && !before.owns(id)))) {
      checkThread(commit, before, thread, report);
    } else report(null, `nothing accounts for its parent ${id}`);
  }
  for (const what of missing) report(null, `no parent of it is ${what}, which its node asks for`);
}

function hashesAskedFor(commit: ThreadCommit, before: ThreadProgress): NodeHash[] {
  if (commit.kind === 'step') {
    const { childThreads, replaces } = commit.node;
    return replaces === undefined ? childThreads : [...childThreads, replaces];
  }
  return commit.kind === 'resume' && before.head.kind !== 'suspend' ? [commit.node.suspension] : [];
}

function checkThread(commit: ThreadCommit, before: ThreadProgress, thread: CommitPlace, report: ReportFault): void {
  const { hash, start, state } = thread;
  if (commit.kind === 'resume' && thread.kind === 'end') {
    if (start.hash !== before.start.hash || state !== before.state) {
      report(null, `the end ${hash} that it goes on from is not the end of this thread`);
    }
  }
  if (commit.kind !== 'step') return;
  const { childThreads, role, replaces, number } = commit.node;
  if (childThreads.includes(hash)) {
    const { parentThread, parentState, parentRole } = start;
    if (parentThread !== before.start.hash || parentState !== before.state || parentRole !== role) {
      report('step.json', `its child thread ${hash} was not called by ${role} from the state before it`);
    }
  }
  if (replaces === hash) {
    const isSamePlace = thread.kind === 'step' && thread.number === number && start.hash === before.start.hash;
    if (!isSamePlace) report('step.json', `the step ${hash} that it replaces has another place`);
  }
}

/**
 * Checks the parts of a commit that repeat nodes of the thread: its message, its author and its dates.
 * @param beside what the message tells beside the commit's node
 * @param before the commit before; `undefined` for a start
 */
function checkMessage(
  commit: ThreadCommit,
  beside: Beside,
  before: Pick<ThreadCommit, 'kind' | 'commit'> | undefined,
  report: ReportFault,
): void {
  const { message } = commit.commit;
  const expected = messageOfCommit(commit, beside);
  if (message !== expected) report(null, describeDifference(message, expected));
  checkSignatures(commit, beside, before, report);
}

function describeDifference(written: string, expected: string): string {
  const [is, wanted] = [written.split('\n'), expected.split('\n')];
  const at = is.findIndex((line, place) => line !== wanted[place]);
  const place = at === -1 ? is.length : at;
  return `its message says ${quote(is[place])} where its nodes say ${quote(wanted[place])}`;
}

function checkSignatures(
  commit: ThreadCommit,
  { agent }: Pick<Beside, 'agent'>,
  before: Pick<ThreadCommit, 'kind' | 'commit'> | undefined,
  report: ReportFault,
): void {
  const atMs = Math.floor(timeOfCommit(commit) / 1000) * 1000;
  // The id of a child that the commit calls holds this date.
  if (atMs > MAX_ID_TIME_MS) return report(null, 'its date is later than the id of a thread can hold');
  const { author, committer } = commit.commit;
  for (const [who, { atMs: saidMs }] of Object.entries({ author, committer })) {
    if (saidMs !== atMs) report(null, `its ${who} date is ${iso(saidMs)}, its node's time is ${iso(atMs)}`);
  }
  const expected = asStored(authorOf(roleOf(commit), agent, committer, before), commit);
  if (author.name !== expected.name || author.email !== expected.email) {
    report(null, `its author is ${author.name} <${author.email}>, not ${expected.name} <${expected.email}>`);
  }
}

/** An author as a commit stores it, without the characters that git does not allow. */
function asStored({ name, email }: Identity, { commit }: ThreadCommit): Identity {
  const author = { ...commit.author, name, email };
  return parseCommit(encodeCommit({ ...commit, author, message: '' })).author;
}

function quote(line: string | undefined): string {
  return line === undefined ? 'nothing' : `'${line}'`;
}

/**
 * Checks every node of a commit: its type exists, it matches the type's schema, and its links lead to nodes of the right
 * type. Links lead to older commits or into the same tree, so a cycle of links, which needs forged hashes, is within a tree.
 * @param sound sound nodes without links, by hash and blob: they need no second check. The check adds to it
 * @returns all hashes that the nodes link to
 */
export async function checkNodes(
  nodes: ReadonlyMap<string, StoredNode>,
  known: NodeSource,
  sound: Set<string>,
  report: ReportFault,
): Promise<Set<NodeHash>> {
  const linked = new Set<NodeHash>();
  const within = new Map<NodeHash, { path: string; links: NodeHash[] }>();
  for (const [path, node] of nodes) {
    // With forged hashes, two different nodes can have one hash.
    const key = `${node.hash} ${node.oid}`;
    await attempt(report, path, async () => {
      if ((await known.find(node.type)) === undefined) throw new NodeNotFound(node.type);
      if (sound.has(key)) return;
      const { errors, links: found } = await findErrors(known, node);
      for (const { path: at, message } of errors) report(path, `${at} ${message}`.trim());
      const links = [...new Set((found ?? (await linksOf(known, node))).map(({ hash }) => hash))];
      for (const hash of links) linked.add(hash);
      within.set(node.hash, { path, links });
      if (errors.length === 0 && links.length === 0) sound.add(alone(key));
    });
  }
  const inCycle = findCycle(within);
  if (inCycle !== undefined)
    report(within.get(inCycle)?.path ?? null, `what node ${inCycle} links to leads back to it`);
  return linked;
}

/** Finds a node on a cycle of links: removes nodes without remaining links until none is left but cycles. */
function findCycle(nodes: ReadonlyMap<NodeHash, { path: string; links: readonly NodeHash[] }>): NodeHash | undefined {
  const linkers = new Map<NodeHash, NodeHash[]>();
  const open = new Map<NodeHash, number>();
  for (const [hash, { links }] of nodes) {
    const inner = links.filter((link) => nodes.has(link));
    open.set(hash, inner.length);
    for (const link of inner) {
      const known = linkers.get(link) ?? [];
      linkers.set(link, known);
      known.push(hash);
    }
  }
  const done = [...open].filter(([, count]) => count === 0).map(([hash]) => hash);
  for (let hash = done.pop(); hash !== undefined; hash = done.pop()) {
    open.delete(hash);
    for (const linker of linkers.get(hash) ?? []) {
      const left = (open.get(linker) ?? 0) - 1;
      open.set(linker, left);
      if (left === 0) done.push(linker);
    }
  }
  // Every remaining node leads to a cycle: following remaining links ends on it. Begins with the first path, because the
  // order of the nodes is that of their hashes, and two threads with the same cycle have to get the same finding.
  const pathOf = (hash: NodeHash): string => nodes.get(hash)?.path ?? '';
  let [at] = [...open.keys()].toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1));
  for (let step = 0; at !== undefined && step < open.size; step++) {
    at = nodes.get(at)?.links.find((link) => open.has(link));
  }
  return at;
}
