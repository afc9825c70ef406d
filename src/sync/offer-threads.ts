import type { Commit } from '../git/format/objects.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { type CommitLine, listCommits } from '../git/process/revisions.ts';
import type { RefName, Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import type { PushEdit, RemoteRef } from '../git/transport/remote.ts';
import { nodeOfMessage } from '../thread/commit-message.ts';
import { type SecretPlace, SecretScan } from '../thread/secret-scan.ts';
import { readSnapshot } from '../thread/step-files.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { assertDataError } from '../thread/thread-errors.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, historyRef, parseThreadId, type ThreadId } from '../thread/thread-id.ts';
import { checkForm } from '../verify/check-form.ts';
import { firstFault, VerifiedCommits } from '../verify/find-chain.ts';
import { NodeCache, readFiles } from '../verify/read-checked.ts';
import { describeMove, eachOnce, type Lineage, type Relation } from './reconcile-thread.ts';
import type { Refusal, SyncOptions, ThreadChange, WorkflowChange } from './report.ts';
import { deletionOf, refOfTip, type Tip } from './shared-refs.ts';

/** What a push knows of one thread. */
export type OfferSides = {
  thread: ThreadId;
  here: Tip;
  /** The remote's refs of the thread, as far as they are known. Their commits may be missing here. */
  there: readonly Tip[];
  /** What became of a thread that has a removal mark, at the remote or here: it is not pushed. */
  removed?: 'removed at the remote' | 'redacted here' | undefined;
};

/** Answers questions about commits. A relation is `undefined` if the remote's commit is missing here. */
export type OfferLineage = {
  relate: (theirs: ObjectId, ours: ObjectId) => Promise<Relation | undefined>;
  forkId: Lineage['forkId'];
};

/** What a push does with one thread. */
export type Offer = {
  thread: ThreadId;
  edits: PushEdit[];
  /** The active ref of a thread that has ended there, or does with this push: readers take what has both refs as ended. */
  spare?: RefName | undefined;
  change?: ThreadChange;
  /** Forks that keep the commits which these edits drop: the remote has to have them, or this push has to create them. */
  needs: ThreadId[];
  /** Why the thread is not pushed. */
  held?: string;
  /** Commits of the user's code that the push would publish. */
  commits?: CommitLine[];
  /** Places of secrets that the push would publish. */
  secrets?: SecretPlace[];
  /** The threads whose starts the push would send: its own, those of its callers and of its children. */
  alongside?: ThreadId[] | undefined;
  /** True if the thread is held because it is not sound. */
  isUnsound?: true;
};

const FETCH_FIRST = 'the remote has steps of it that are not here; fetch first';

/**
 * Plans which refs of a remote change so that it has a thread as it is here. No ref is forced: if the remote has a commit
 * that the thread here does not descend from, the thread is held until a fetch reconciles both.
 *
 * Every edit names the value that the ref was seen to have, so that a push does not revive a thread which has ended there.
 */
export async function offerThread(sides: OfferSides, lineage: OfferLineage): Promise<Offer> {
  const { thread, here, there, removed } = sides;
  const offer: Offer = { thread, edits: [], needs: [] };
  if (removed !== undefined) {
    return { ...offer, held: `it was ${removed}; 'uwf thread rm ${thread}' removes it here, too` };
  }
  const archived = there.find(({ isArchived }) => isArchived);
  if (archived !== undefined) {
    const kind = (await lineage.relate(archived.id, here.id))?.kind;
    return kind === 'same' || kind === 'ahead' ? offer : { ...offer, held: FETCH_FIRST };
  }
  const name = refOfTip(thread, here);
  const same = there.find(({ endedOn }) => endedOn === here.endedOn);
  const others = there.filter((tip) => tip !== same);
  const deletions: PushEdit[] = [];
  for (const tip of others) {
    const relation = await lineage.relate(tip.id, here.id);
    const isBehind = relation?.kind === 'same' || relation?.kind === 'behind';
    if (here.endedOn === undefined) return relation?.kind === 'ahead' ? offer : { ...offer, held: FETCH_FIRST };
    // Of several ends, the one whose ref sorts first keeps the id, on both sides.
    const isOurs = tip.endedOn === undefined || here.endedOn < tip.endedOn;
    if (relation === undefined || !isOurs) return { ...offer, held: FETCH_FIRST };
    if (!isBehind) offer.needs.push(await lineage.forkId(thread, tip.id));
    const isOnTheWay = relation.kind === 'behind' && tip.endedOn === undefined;
    deletions.push({ ...deletionOf(thread, tip), ...(isOnTheWay && { via: here.id }) });
  }
  const relation = same && (await lineage.relate(same.id, here.id));
  if (same && relation?.kind === 'ahead') return offer;
  if (same && relation?.kind !== 'same' && relation?.kind !== 'behind') return { ...offer, held: FETCH_FIRST };
  // Also where the remote has the end already: it may have lost it since it was seen.
  if (relation?.kind !== 'same' || deletions.length > 0)
    offer.edits.push({ name, value: here.id, expected: same?.id ?? null });
  offer.edits.push(...deletions);
  if (offer.edits.length === 0) return offer;
  const active = others.find(({ endedOn }) => endedOn === undefined);
  if (active !== undefined) offer.spare = refOfTip(thread, active);
  const change = await describeMove(thread, same ?? others[0], here, lineage.relate);
  return { ...offer, ...(change && { change }) };
}

const UNPUBLISHED = 'its steps follow commits of your code that the remote does not have';

/** A report names at most this many places and commits of one thread. */
const MAX_NAMED = 1_000;
/** A shorter thread is checked before the remote would have answered. */
const FIRST_ASKED = 32;
/** How many of the thread's commits at the remote are searched for the code that the remote got with them. */
const MAX_PASSED = 16;

type OutgoingVerdict = {
  /** Why it is no sound thread. */
  fault?: string;
  secrets: SecretPlace[];
};

/** What was found in one commit, whatever its parents are. */
type Seen = OutgoingVerdict & {
  /** Its parents that are commits of threads. */
  threads: readonly ObjectId[];
  /** Its parents that are commits of the user's code; for a snapshot, what was checked out. */
  code: ReadonlyMap<ObjectId, readonly ObjectId[] | undefined>;
  starts?: ThreadId;
};

/**
 * Holds what must not leave this repository: unsound threads, unpublished commits of the user's code, secrets.
 *
 * One walk over all that a push would send of a thread, with its callers and children, finds it: every commit has to have the
 * form of a thread's commit, and contain no secret. Commits behind the one that the push expects at the remote are not walked. Other
 * refs of the remote may lead to a commit as well; the remote is asked for them only if something was found, because a push does not
 * send what the remote has.
 */
export class HoldBack {
  readonly #repository: Repository;
  readonly #options: SyncOptions;
  readonly #scan: SecretScan | undefined;
  readonly #cache: NodeCache;
  readonly #listAll: () => Promise<readonly RemoteRef[]>;
  readonly #seen = new Map<ObjectId, Seen>();
  #behindThere: Promise<VerifiedCommits> | undefined;

  /** @param listAll lists all refs of the remote */
  constructor(repository: Repository, listAll: () => Promise<readonly RemoteRef[]>, options: SyncOptions) {
    this.#repository = repository;
    this.#options = options;
    this.#scan = options.redactor && new SecretScan(repository, options.redactor);
    this.#cache = new NodeCache(repository);
    this.#listAll = listAll;
  }

  /** Adds to each offer what it would publish, and holds it if that is not allowed. */
  async threads(offers: readonly Offer[]): Promise<void> {
    const code = new Map<Offer, readonly ObjectId[]>();
    for (const [at, offer] of offers.entries()) {
      if (at > 0 && at % 100 === 0) this.#options.onProgress?.(`looked through ${at} of ${offers.length} threads`);
      const behind = await this.#walk(offer).catch((error: unknown) => {
        // The other threads are pushed.
        assertDataError(error);
        holdUnsound(offer, error.message);
      });
      if (behind !== undefined && behind.length > 0) code.set(offer, behind);
    }
    const missing = await this.#findUnpublished(code);
    for (const offer of offers) {
      if (offer.held !== undefined) continue;
      const commits = missing.get(offer);
      if (commits !== undefined) {
        offer.commits = commits;
        if (this.#options.withCommits !== true) offer.held = UNPUBLISHED;
        else for (const { commit } of commits) offer.secrets?.push(...((await this.#scan?.scanCode(commit)) ?? []));
      }
      const reason = offer.held === undefined ? this.#reasonOf(offer.secrets) : undefined;
      if (reason !== undefined) offer.held = reason;
      offer.secrets &&= offer.secrets.slice(0, MAX_NAMED);
    }
  }

  /** Returns why a new version of a workflow may not leave; `undefined` if it may. */
  async workflow(ref: string, { workflow, head, before }: WorkflowChange): Promise<Refusal | undefined> {
    const { fault, secrets } = await checkRegistration(this.#repository, { workflow, head, before }, this.#scan).catch(
      (error: unknown): OutgoingVerdict => {
        assertDataError(error);
        return { fault: error.message, secrets: [] };
      },
    );
    if (fault !== undefined) return { ref, reason: `it is no sound registry: ${fault}`, isUnsound: true };
    const reason = this.#reasonOf(secrets);
    return reason === undefined ? undefined : { ref, reason, secrets: secrets.slice(0, MAX_NAMED) };
  }

  #reasonOf(secrets: readonly object[] = []): string | undefined {
    if (secrets.length === 0 || this.#options.allowSecrets === true) return undefined;
    return `it has ${secrets.length === 1 ? 'a secret' : `${secrets.length} secrets`}`;
  }

  /**
   * Walks over what would be sent of a thread, up to the first fault.
   * @returns the commits of the user's code that it leads to, but for what the remote got with the thread
   */
  async #walk(offer: Offer): Promise<ObjectId[]> {
    const { thread, edits, change } = offer;
    const name = edits.find(({ value }) => value !== null)?.name;
    if (!change?.head || name === undefined) return [];
    const before = change.before ?? (await this.#findBase(change.head));
    // A step that was done again has the parents of the one at the remote.
    const had = before === null ? [] : (await readCommit(this.#repository.objects, before)).parents;
    const passed = new Set<ObjectId>(before === null ? [] : [before, ...had]);
    const code = new Set<ObjectId>();
    const snapshots = new Map<ObjectId, readonly ObjectId[]>();
    const along = new Set<ThreadId>();
    offer.secrets = [];
    const waiting = [change.head];
    for (const id of eachOnce(waiting, passed)) {
      this.#options.signal?.throwIfAborted();
      const seen = this.#seen.get(id) ?? (await this.#look(id));
      this.#seen.set(id, seen);
      const isOdd = seen.fault !== undefined || seen.secrets.length > 0;
      if (isOdd && (await this.#isThere(id))) continue;
      if (seen.fault !== undefined) holdUnsound(offer, seen.fault);
      if (offer.held !== undefined) return [];
      offer.secrets.push(...seen.secrets);
      waiting.push(...seen.threads);
      if (seen.starts !== undefined) along.add(seen.starts);
      for (const [commit, checkedOut] of seen.code) {
        code.add(commit);
        if (checkedOut !== undefined) snapshots.set(commit, checkedOut);
      }
    }
    offer.alongside = [...along];
    const fault = await this.#faultOfName(name, thread, change.head);
    if (fault !== undefined) holdUnsound(offer, fault);
    // The base of a branch can be a snapshot of its caller. A set visits what is added while it is read.
    for (const id of code) {
      const checkedOut = snapshots.get(id);
      if (checkedOut === undefined) continue;
      code.delete(id);
      for (const behind of checkedOut) code.add(behind);
    }
    if (code.size > 0) for (const id of await this.#codeSentWith(before)) code.delete(id);
    return [...code];
  }

  async #look(id: ObjectId): Promise<Seen> {
    const nothing: Seen = { secrets: [], threads: [], code: new Map() };
    const { report, reason } = firstFault(id);
    const form = await checkForm(this.#cache, id, report);
    const fault = reason();
    if (fault !== undefined || form === undefined) return { ...nothing, ...(fault !== undefined && { fault }) };
    const { commit, nodes, threads, code } = form;
    const step = commit.kind === 'step' ? commit.node.number : null;
    const secrets = await this.#scan?.scanCommit({ id, tree: commit.commit.tree, step, nodes, code });
    const checkedOut = new Map<ObjectId, readonly ObjectId[] | undefined>();
    for (const parent of code) checkedOut.set(parent, await this.#checkedOutBy(parent, commit.commit));
    return {
      secrets: secrets ?? [],
      threads,
      code: checkedOut,
      ...(commit.kind === 'start' && { starts: parseThreadId(commit.node.id) }),
    };
  }

  /** What was checked out where a snapshot was taken; `undefined` for a commit that is no snapshot of the step. */
  async #checkedOutBy(id: ObjectId, step: Commit): Promise<readonly ObjectId[] | undefined> {
    return (await readSnapshot(this.#repository.objects, id, step))?.parents;
  }

  /** The code that the remote got with the newest of the thread's commits that it has. */
  async #codeSentWith(before: ObjectId | null): Promise<ObjectId[]> {
    const sent: ObjectId[] = [];
    let at = before;
    for (let passed = 0; at !== null && passed < MAX_PASSED; passed += 1) {
      const commit = await readCommit(this.#repository.objects, at);
      const [previous = null, ...further] = commit.parents;
      for (const id of further) sent.push(...((await this.#checkedOutBy(id, commit)) ?? [id]));
      at = previous;
    }
    return sent;
  }

  /**
   * Finds the commits of the user's code that no ref of the remote reaches, the newest first.
   *
   * A step that recorded files leads to the commit that was checked out. A push sends that commit and its history: also
   * commits that the user has not pushed, and files that later commits deleted.
   */
  async #findUnpublished(from: ReadonlyMap<Offer, readonly ObjectId[]>): Promise<Map<Offer, CommitLine[]>> {
    const found = new Map<Offer, CommitLine[]>();
    if (from.size === 0) return found;
    const without = await idsHere(this.#repository, await this.#listAll());
    const { location } = this.#repository;
    const { env = {} } = this.#options;
    const list = async (starts: readonly ObjectId[]): Promise<CommitLine[]> =>
      location === undefined
        ? // A repository without a disk has no code beside the threads.
          starts.filter((id) => !without.includes(id)).map((commit) => ({ commit, subject: '' }))
        : listCommits({ location, env }, { from: starts, without, most: MAX_NAMED });
    const known = new Map<string, Promise<CommitLine[]>>();
    const findMissing = (code: readonly ObjectId[]): Promise<CommitLine[]> => {
      const starts = [...new Set(code)].toSorted();
      const key = starts.join(' ');
      const missing = known.get(key) ?? list(starts);
      known.set(key, missing);
      return missing;
    };
    // In most pushes nothing is missing: one question to git tells that of all threads.
    if ((await findMissing([...from.values()].flat())).length === 0) return found;
    for (const [offer, code] of from) {
      const missing = await findMissing(code);
      if (missing.length > 0) found.set(offer, missing);
    }
    return found;
  }

  /**
   * Finds a commit at the remote behind the head of a thread that the remote does not have: a fork may share most of its
   * steps with a thread there. The remote is asked only about a long chain, and about few of its commits.
   */
  async #findBase(head: ObjectId): Promise<ObjectId | null> {
    let base: ObjectId | null = null;
    let [at, passed, next]: [ObjectId | undefined, number, number] = [head, 0, FIRST_ASKED];
    while (at !== undefined && base === null) {
      passed += 1;
      if (passed === next) {
        next *= 2;
        if (await this.#isThere(at)) base = at;
      }
      // The check reports a commit that cannot be read.
      const commit: Commit | undefined = await readCommit(this.#repository.objects, at).catch(() => undefined);
      // Behind the start can be the user's code, which may be long.
      at = commit && nodeOfMessage(commit.message) !== undefined ? commit.parents[0] : undefined;
    }
    return base;
  }

  async #faultOfName(name: RefName, thread: ThreadId, head: ObjectId): Promise<string | undefined> {
    if (!name.startsWith(HISTORY_PREFIX)) return undefined;
    const commit = await readThreadCommit(this.#repository, head);
    if (commit.kind !== 'end') return 'its ref is for threads that ended, and it has not';
    return historyRef(thread, commit.node.completedAtMs) === name
      ? undefined
      : 'it ended on another day than its ref says';
  }

  async #isThere(id: ObjectId): Promise<boolean> {
    this.#behindThere ??= this.#listAll().then((refs) => {
      const ofThreads = refs.filter(({ name }) => name.startsWith(ACTIVE_PREFIX) || name.startsWith(HISTORY_PREFIX));
      return new VerifiedCommits(this.#repository, new Set(ofThreads.map(({ id }) => id)));
    });
    return (await this.#behindThere).has(id);
  }
}

function holdUnsound(offer: Offer, fault: string): void {
  offer.held = `it is no sound thread: ${fault}`;
  offer.isUnsound = true;
}

/** The objects that refs of a remote point at, as far as they are here. */
export async function idsHere({ objects }: Repository, there: readonly RemoteRef[]): Promise<ObjectId[]> {
  const here: ObjectId[] = [];
  for (const id of new Set(there.map((ref) => ref.id))) if (await objects.has(id)) here.push(id);
  return here;
}

/**
 * Checks what a push would send of a workflow's registry, with the checks of a fetch.
 * @param before the commit that the push expects at the remote
 */
async function checkRegistration(
  repository: Repository,
  { workflow, head, before }: { workflow: string; head: ObjectId; before: ObjectId | null },
  scan: SecretScan | undefined,
): Promise<OutgoingVerdict> {
  // Few pushes have a new version.
  const [{ checkRegistry, INCOMING_LIMITS, boundedObjects }, { TimeBudget }] = await Promise.all([
    import('../verify/check-incoming.ts'),
    import('../verify/step-history.ts'),
  ]);
  const bounded: Repository = { ...repository, objects: boundedObjects(repository.objects, INCOMING_LIMITS) };
  const cache = new NodeCache(bounded);
  const isVerified = (id: ObjectId): Promise<boolean> => Promise.resolve(id === before);
  const check = { budget: new TimeBudget(), cache, isVerified };
  const fault = await checkRegistry(check, workflow, head);
  if (fault !== undefined) return { fault, secrets: [] };
  const secrets: SecretPlace[] = [];
  const passed = new Set(before === null ? [] : [before]);
  const waiting = scan === undefined ? [] : [head];
  for (const id of eachOnce(waiting, passed)) {
    const { tree, parents } = await readCommit(bounded.objects, id);
    const { index } = await readFiles(bounded, tree, () => {});
    const nodes = await Promise.all(index.map(async (entry) => [entry.path, await cache.read(entry)] as const));
    secrets.push(...((await scan?.scanCommit({ id, tree, step: null, nodes, code: [] })) ?? []));
    waiting.push(...parents);
  }
  return { secrets };
}
