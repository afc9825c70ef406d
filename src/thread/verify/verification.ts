import type { NodeHash } from '../../cas/hash.ts';
import { prepareHashing } from '../../cas/hash.ts';
import type { NodeSource, StoredNode } from '../../cas/node-source.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { AgentRecord } from '../../schema/built-in/agent.ts';
import type { Content } from '../../schema/built-in/content.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import { advanceThread, stateHash, type CommitOf, type ThreadState } from '../thread-state.ts';
import { checkFiles } from './check-files.ts';
import { checkMessage } from './check-message.ts';
import { checkNodes } from './check-nodes.ts';
import { checkCaller, checkOrder } from './check-order.ts';
import { checkParents } from './check-parents.ts';
import { attempt, type Finding, type Report } from './finding.ts';
import { KnownNodes, NodeCache } from './known-nodes.ts';
import { readChecked, type CheckedCommit } from './read-checked.ts';
import { readStanding, type Standing } from './standing.ts';

/**
 * Says what a commit decides otherwise than the rules do, a sentence each; handed in, for deciding is above this room.
 * @param before the thread up to the commit
 */
export type Judge = (before: ThreadState, commit: ThreadCommit, nodes: NodeSource) => Promise<string[]>;

/** What was found out about one thread. */
export type Verified = {
  /** How many commits were looked at, those of child threads included. */
  commits: number;
  /** What is wrong, the commits in the order in which they were made. */
  findings: Finding[];
};

const MAX_REMEMBERED = 50_000;

/**
 * Verifies threads of one repository. What threads share (forks, children) is looked at once, and is reported for each.
 *
 * All that a promise of the format says is checked, and nothing is believed: every object is read, every hash computed
 * again, every decision made again. Nothing is run and nothing is written.
 */
export class Verification {
  readonly #repository: Repository;
  readonly #judge: Judge;
  readonly #cache: NodeCache;
  readonly #commits = new Map<ObjectId, CheckedCommit | undefined>();
  readonly #standings = new Map<ObjectId, Standing>();
  readonly #findings = new Map<ObjectId, Finding[]>();
  readonly #sound = new Set<NodeHash>();

  constructor(repository: Repository, judge: Judge) {
    this.#repository = repository;
    this.#judge = judge;
    this.#cache = new NodeCache(repository);
  }

  /** Verifies all that a head reaches, except commits of somebody's code. */
  async verify(id: ThreadId, head: ObjectId): Promise<Verified> {
    await prepareHashing();
    if (this.#commits.size > MAX_REMEMBERED) {
      for (const memory of [this.#commits, this.#standings, this.#findings]) memory.clear();
    }
    const visited = new Set<ObjectId>();
    await this.#verifyThread(id, head, visited);
    return { commits: visited.size, findings: [...visited].flatMap((commit) => this.#findings.get(commit) ?? []) };
  }

  async #verifyThread(id: ThreadId, head: ObjectId, visited: Set<ObjectId>): Promise<Standing | undefined> {
    const chain = await this.#readChain(head, visited);
    const [first] = chain;
    if (first === undefined || first.commit.kind !== 'start') return undefined;
    const start = first.commit;
    const known = new KnownNodes(this.#repository, this.#cache);
    let state: ThreadState | undefined;
    for (const checked of chain) {
      const { commit, files } = checked;
      visited.add(commit.id);
      const report = this.#reportOn(commit.id, this.#standings.has(commit.id));
      const nodes = new Map<string, StoredNode>();
      for (const entry of files.index) {
        const node = await attempt(report, entry.path, () => known.add(entry));
        if (node) nodes.set(entry.path, node);
      }
      const further = commit.kind === 'start' ? commit.commit.parents : commit.commit.parents.slice(1);
      for (const parent of further) known.addBehind(parent);
      const threads = commit.kind === 'start' ? undefined : await this.#verifyParents(id, further, visited);
      if (!this.#standings.has(commit.id)) {
        await this.#check(checked, start, state, nodes, known, threads, report);
      }
      state = state ? advanceThread(state, commit, textOf(nodes.get('output.md'))) : begin(id, start, nodes);
      this.#standings.set(commit.id, { head: commit, start, state: stateHash(state) });
    }
    return this.#standings.get(head);
  }

  /** The commits of a thread, the start first; none if it cannot be gone through to there. */
  async #readChain(head: ObjectId, visited: Set<ObjectId>): Promise<CheckedCommit[]> {
    const chain: CheckedCommit[] = [];
    for (let id = head; ;) {
      const report = this.#reportOn(id, this.#commits.has(id));
      const checked = this.#commits.has(id)
        ? this.#commits.get(id)
        : await readChecked(this.#repository, this.#cache, id, report);
      this.#commits.set(id, checked);
      const parent = checked?.commit.commit.parents[0];
      if (checked?.commit.kind === 'start') return [checked, ...chain.toReversed()];
      if (checked === undefined || parent === undefined) {
        if (checked) report(null, 'it is no start and has no parent');
        for (const broken of [id, ...chain.map(({ commit }) => commit.id).toReversed()]) visited.add(broken);
        return [];
      }
      chain.push(checked);
      id = parent;
    }
  }

  /** Verifies the further parents that are commits of threads: children, what was replaced, what is linked to. */
  async #verifyParents(
    id: ThreadId,
    parents: readonly ObjectId[],
    visited: Set<ObjectId>,
  ): Promise<Map<ObjectId, Standing>> {
    const threads = new Map<ObjectId, Standing>();
    for (const parent of parents) {
      if (!(await this.#isThreads(parent))) continue;
      const standing = await this.#verifyThread(id, parent, visited);
      if (standing) threads.set(parent, standing);
    }
    return threads;
  }

  /** Tells a commit of a thread, damaged or not, from one of somebody's code. */
  async #isThreads(id: ObjectId): Promise<boolean> {
    if (this.#commits.has(id)) return true;
    const { readCommitNodes } = await import('../../cas/commit-nodes.ts');
    const nodes = await attempt(
      () => undefined,
      null,
      () => readCommitNodes(this.#repository, id),
    );
    return nodes === undefined || nodes.entries !== undefined;
  }

  async #check(
    { commit, files }: CheckedCommit,
    start: CommitOf<'start'>,
    before: ThreadState | undefined,
    nodes: ReadonlyMap<string, StoredNode>,
    known: KnownNodes,
    threads: ReadonlyMap<ObjectId, Standing> | undefined,
    report: Report,
  ): Promise<void> {
    const linked = await checkNodes(nodes, known, this.#sound, report);
    await checkFiles(this.#repository, commit, start, files, nodes, known, report);
    const agent = await attempt(report, null, () => agentOf(commit, known));
    checkMessage(commit, agent, report);
    if (commit.kind === 'start') {
      const [caller, ...others] = commit.commit.parents;
      const standing =
        caller &&
        (await attempt(
          report,
          null,
          async () => this.#standings.get(caller) ?? readStanding(this.#repository, caller),
        ));
      checkCaller(commit, standing, report);
      for (const other of others) report(null, `nothing accounts for its parent ${other}`);
    } else if (before) {
      checkOrder(commit, before, report);
      checkParents(commit, before, threads ?? new Map(), linked, nodes.values(), report);
      for (const what of (await attempt(report, null, () => this.#judge(before, commit, known))) ?? []) {
        report(`${commit.kind}.json`, what);
      }
    }
  }

  #reportOn(commit: ObjectId, isKnown: boolean): Report {
    const findings = this.#findings.get(commit) ?? [];
    this.#findings.set(commit, findings);
    return (path, what) => {
      // What is gone through again for another thread was reported the first time.
      if (!isKnown) findings.push({ commit, path, what });
    };
  }
}

async function agentOf(commit: ThreadCommit, known: KnownNodes): Promise<AgentRecord | undefined> {
  if (commit.kind !== 'step' && commit.kind !== 'suspend') return undefined;
  // Where it is of another type that has been reported as a wrong link; its name is then no text.
  return (await known.find(commit.node.agent))?.payload as AgentRecord | undefined;
}

function begin(id: ThreadId, start: CommitOf<'start'>, nodes: ReadonlyMap<string, StoredNode>): ThreadState {
  const common = { id, head: start, start, prompt: textOf(nodes.get('prompt.md')) };
  return { ...common, steps: [], pauses: [], suspendedTurns: [], stepsAtLastResume: 0, end: undefined };
}

/** The text of a content node; '' where it is none, which has been reported. */
function textOf(node: StoredNode | undefined): string {
  return (node?.payload as Partial<Content> | undefined)?.text ?? '';
}
