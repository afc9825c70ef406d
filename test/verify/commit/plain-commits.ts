import { parseNodeHash, type NodeHash } from '../../../src/cas/hash.ts';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import type { ThreadCommitKind, ThreadEvent } from '../../../src/thread/thread-commit.ts';
import { type CommitOf, tallyOfStart, totalsOf } from '../../../src/thread/thread-state.ts';
import type { ReportFault } from '../../../src/verify/find-chain.ts';

type NodeOf<Kind extends ThreadCommitKind> = Extract<ThreadEvent, { kind: Kind }>['node'];

/** A hash and an id that are different for each number. */
export const hashOf = (number: number): NodeHash => parseNodeHash(String(number).padStart(13, '0'));
export const idOf = (number: number): ObjectId => parseObjectId(String(number).padStart(40, '0'));

const totals = totalsOf(tallyOfStart(idOf(1)));
const common = {
  totals,
  start: hashOf(1),
  agent: hashOf(50),
  prompt: hashOf(51),
  rule: null,
  attempts: [],
  usage: null,
};

const nodes: { [Kind in ThreadCommitKind]: NodeOf<Kind> } = {
  start: {
    format: 1,
    id: '01KTWEWZ760000000000000000',
    workflow: hashOf(52),
    prompt: hashOf(51),
    agents: {},
    depth: 0,
    parentThread: null,
    parentState: null,
    parentRole: null,
    startedAtMs: 1_795_262_400_123,
  },
  step: {
    ...common,
    number: 1,
    role: 'writer',
    meta: {},
    content: hashOf(53),
    react: null,
    previous: null,
    ancestors: [],
    compact: null,
    childThreads: [],
    startedAtMs: 1_795_262_400_000,
    completedAtMs: 1_795_262_401_567,
  },
  suspend: {
    ...common,
    role: 'writer',
    reason: 'a question',
    cause: 'agent',
    previous: null,
    content: null,
    react: null,
    suspendedAtMs: 1_795_262_402_999,
  },
  resume: { totals, suspension: hashOf(3), answer: null, start: hashOf(1), resumedAtMs: 1_795_262_403_000 },
  end: {
    totals,
    outcome: 'completed',
    returnCode: 0,
    summary: hashOf(54),
    start: hashOf(1),
    lastStep: null,
    completedAtMs: 1_795_262_404_000,
  },
};

/** A commit of a thread whose start is number 1, as the checks of one commit get it. Number n has the hash and the id n. */
export function commitOf<Kind extends ThreadCommitKind>(
  kind: Kind,
  number: number,
  node: Partial<NodeOf<Kind>> = {},
  parents: ObjectId[] = [],
): CommitOf<Kind> {
  const who = { name: 'A', email: 'a@b', atMs: 1_795_262_400_000 };
  const commit = { tree: idOf(90), parents, author: who, committer: who, message: '' };
  const event = { kind, node: { ...nodes[kind], ...node } };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The kind and its node belong together.
  return { id: idOf(number), hash: hashOf(number), index: [], commit, ...event } as unknown as CommitOf<Kind>;
}

/** Collects what a check reports: `path: what`. */
export function collectFaults(): { faults: string[]; report: ReportFault } {
  const faults: string[] = [];
  return { faults, report: (path, what) => void faults.push(path === null ? what : `${path}: ${what}`) };
}

/** What a check reports. */
export function faultsOf(check: (report: ReportFault) => void): string[] {
  const { faults, report } = collectFaults();
  check(report);
  return faults;
}
