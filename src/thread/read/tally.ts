import type { NodeHash } from '../../cas/hash.ts';
import { typePath } from '../../cas/scratch.ts';
import { alone, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { countedLimits, type MoreLimits } from '../../schema/built-in/thread-resume.ts';
import { addUsage, type Usage } from '../../schema/built-in/usage.ts';
import type { ThreadCommit, ThreadCommitKind } from '../thread-commit.ts';
import { readReplaced } from './replaced-steps.ts';

/** A commit of a thread, and the number of the newest step up to it. */
export type StepPlace = { commit: ObjectId; number: number };

/** The totals of the turns of one role. */
export type RoleTally = {
  /** How many steps it took. */
  visits: number;
  first: StepPlace | null;
  last: StepPlace | null;
  /** The usage of its steps and of its turns that ended in a suspension. */
  usage: Usage | null;
  /** The usage of its steps that were replaced by others. */
  replaced: Usage | null;
  /** Its suspensions since its last step. */
  waits: number;
};

/**
 * The totals of the commits of a thread, from its start to one of them. With them, later steps need not read earlier ones
 * again.
 *
 * It follows from the commits alone. Its size is bounded but for `calling` and `reopenings`.
 */
export type Tally = {
  start: ObjectId;
  steps: number;
  /** The schemas in the commits. */
  types: ReadonlySet<NodeHash>;
  roles: ReadonlyMap<string, RoleTally>;
  /** The usage of all steps and suspended turns, added up in their order. */
  usage: Usage | null;
  /** The usage of all steps that were replaced by others. */
  replaced: Usage | null;
  /** How much people have added to the limits. */
  more: MoreLimits;
  /** The tree of the newest step that recorded its files. */
  files: ObjectId | null;
  /** The newest step that carries a summary of those before it. */
  compacted: StepPlace | null;
  /** The steps that took in the ends of child threads, oldest first. */
  calling: readonly ObjectId[];
  /** The resumptions after an end, oldest first. */
  reopenings: readonly StepPlace[];
};

/** What a tally needs of a commit. */
export type TallyEntry = { id: ObjectId; types: readonly NodeHash[] } & (
  | { kind: 'start' | 'end' }
  | { kind: 'resume'; more: MoreLimits }
  | { kind: 'suspend'; role: string; usage: Usage | null }
  | {
      kind: 'step';
      role: string;
      usage: Usage | null;
      replaced: Usage | null;
      files: ObjectId | undefined;
      isCompacted: boolean;
      isCalling: boolean;
    }
);

/** Reads what a tally needs of a commit. */
export async function readTallyEntry(repository: Repository, commit: ThreadCommit): Promise<TallyEntry> {
  const { id, index, kind, node } = commit;
  const schemas = index.filter(({ path, hash }) => path.startsWith('types/') && path === typePath(hash));
  const common = { id: alone(id), types: schemas.map(({ hash }) => hash) };
  switch (kind) {
    case 'start':
    case 'end':
      return { ...common, kind };
    case 'resume':
      return { ...common, kind, more: node.more ?? {} };
    case 'suspend':
      return { ...common, kind, role: node.role, usage: node.usage };
    case 'step':
      return {
        ...common,
        kind,
        role: node.role,
        usage: node.usage,
        replaced: await usageReplacedBy(repository, commit),
        files: node.workspace?.tree,
        isCompacted: node.compact !== null,
        isCalling: node.childThreads.length > 0,
      };
  }
}

/** The usage of the steps that a step replaced. */
export async function usageReplacedBy(
  repository: Repository,
  step: Extract<ThreadCommit, { kind: 'step' }>,
): Promise<Usage | null> {
  let usage: Usage | null = null;
  for (const { node } of await readReplaced(repository, step)) usage = addUsage(usage, node.usage);
  return usage;
}

/** The tally of a start. */
export function tallyOfStart({ id, types }: TallyEntry): Tally {
  return {
    start: id,
    steps: 0,
    types: new Set(types),
    roles: new Map(),
    usage: null,
    replaced: null,
    more: {},
    files: null,
    compacted: null,
    calling: [],
    reopenings: [],
  };
}

/**
 * The tally after one more commit.
 * @param before the kind of the commit before
 */
export function addToTally(tally: Tally, entry: TallyEntry, before: ThreadCommitKind): Tally {
  const added = entry.types.filter((type) => !tally.types.has(type));
  const after = added.length === 0 ? tally : { ...tally, types: new Set([...tally.types, ...added]) };
  switch (entry.kind) {
    case 'start':
    case 'end':
      return after;
    case 'resume': {
      const more = sumOf(tally.more, entry.more);
      if (before === 'suspend') return { ...after, more };
      return { ...after, more, reopenings: [...tally.reopenings, { commit: entry.id, number: tally.steps }] };
    }
    case 'suspend': {
      const role = tally.roles.get(entry.role) ?? NO_TURN;
      const waited = { ...role, waits: role.waits + 1, usage: addUsage(role.usage, entry.usage) };
      const roles = new Map(tally.roles).set(entry.role, waited);
      return { ...after, roles, usage: addUsage(tally.usage, entry.usage) };
    }
    case 'step': {
      const place = { commit: entry.id, number: tally.steps + 1 };
      const role = tally.roles.get(entry.role) ?? NO_TURN;
      const visited = {
        visits: role.visits + 1,
        first: role.first ?? place,
        last: place,
        usage: addUsage(role.usage, entry.usage),
        replaced: addUsage(role.replaced, entry.replaced),
        waits: 0,
      };
      return {
        ...after,
        steps: place.number,
        roles: new Map(tally.roles).set(entry.role, visited),
        usage: addUsage(tally.usage, entry.usage),
        replaced: addUsage(tally.replaced, entry.replaced),
        files: entry.files ?? tally.files,
        compacted: entry.isCompacted ? place : tally.compacted,
        calling: entry.isCalling ? [...tally.calling, entry.id] : tally.calling,
      };
    }
  }
}

/** The tally of a role that has had no turn. */
export const NO_TURN: RoleTally = { visits: 0, first: null, last: null, usage: null, replaced: null, waits: 0 };

/** Adds up what people have added to limits. */
export function sumOf(...added: readonly MoreLimits[]): MoreLimits {
  const sum: MoreLimits = {};
  for (const name of countedLimits) {
    const amount = added.reduce((total, more) => total + (more[name] ?? 0), 0);
    if (amount > 0) sum[name] = amount;
  }
  return sum;
}
