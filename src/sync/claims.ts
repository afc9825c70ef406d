import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from '../cas/canonical.ts';
import { UwfError } from '../errors.ts';
import { isObjectId, type ObjectFormat, type ObjectId } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import type { ObjectStore, RefName, Repository } from '../git/repository.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { type ObjectReader, readBlob, readCommit, readTree } from '../git/stores/read.ts';
import { hintAtRefusal } from '../git/transport/git-output.ts';
import type { Remote } from '../git/transport/remote.ts';
import { iso } from '../time/clock.ts';
import { parseJson } from '../json.ts';
import { orElse } from '../or-else.ts';
import { arrayOf, isNumber, isString, objectOf, type Shape, stringThat } from '../shape.ts';
import { nothingForDataError } from '../thread/thread-errors.ts';
import { isThreadId, REMOTES_PREFIX, type ThreadId } from '../thread/thread-id.ts';

/** Claims of workers: a ref at the remote for each thread that a worker works on. */
export const CLAIMS_PREFIX = 'refs/uwf/claims/';

const FILE = 'claim.json';
const MAX_BYTES = 16 * 1024;
/** The longest name of a worker, a machine or a role, in UTF-16 code units. */
const MAX_NAME = 200;
/** The longest reason for holding a step back, in UTF-16 code units. */
const MAX_REASON = 2_000;
/** How many lost turns a claim tells of, and in how many UTF-16 code units each. */
const MAX_LOSSES_TOLD = 8;
const MAX_LOSS = 200;

/** The shortest and the longest time, in ms, for which a claim counts while it does not change. */
export const CLAIM_DEADLINES = { min: 1_000, max: 3_600_000, ofMalformed: 60_000 };

/** What a worker says of a thread that it works on. Source: docs/format-rules.md, Claims. */
export type Claim = {
  thread: ThreadId;
  /** The commit that the thread was at. */
  head: ObjectId;
  worker: string;
  /** The name of its machine. */
  host: string;
  /** 16 hexadecimal digits, drawn when the worker starts. */
  session: string;
  /** 0, and one more with each renewal. */
  count: number;
  /** The claim counts until it was seen unchanged for this time, in ms. */
  deadlineMs: number;
  /** The role whose turn it is. */
  role?: string;
  /** Why a finished turn is not published. */
  held?: string;
  /** What became of the turns of this head that left nothing, the newest last; absent: there was none. */
  losses?: string[];
  /** The worker has given the thread back: any other may take it at once, and the claim only carries `losses`. */
  givenBack?: true;
  /** Who has stopped the work on the thread: no worker takes it, and the claim counts until it is removed. */
  stoppedBy?: string;
  /** Why a worker has stopped it; absent if a person did. */
  reason?: string;
};

const isName = stringThat((text): text is string => text.length > 0 && text.length <= MAX_NAME);
const isReason = stringThat((text): text is string => text.length <= MAX_REASON);

const isLosses: Shape<string[]> = arrayOf(stringThat((text): text is string => text.length <= MAX_LOSS));
const isTrue: Shape<true> = (value): value is true => value === true;

const isClaim = objectOf<Claim>({
  thread: stringThat(isThreadId),
  head: stringThat(isObjectId),
  worker: isName,
  host: isName,
  session: isString,
  count: isNumber,
  deadlineMs: isNumber,
  role: { mayBe: isName },
  held: { mayBe: isReason },
  losses: { mayBe: isLosses },
  givenBack: { mayBe: isTrue },
  stoppedBy: { mayBe: isName },
  reason: { mayBe: isReason },
});

/** The ref of a thread's claim at a remote. */
export function claimRef(thread: ThreadId): RefName {
  return parseRefName(CLAIMS_PREFIX + thread);
}

/** Makes the commit of a claim. It has no parents, so that old claims can be collected. Its time is for people alone. */
export function makeClaim(format: ObjectFormat, claim: Claim, atMs: number): { id: ObjectId; batch: ObjectBatch } {
  const batch = new ObjectBatch(format);
  const held = claim.held?.slice(0, MAX_REASON);
  const losses = claim.losses?.slice(-MAX_LOSSES_TOLD).map((loss) => loss.slice(0, MAX_LOSS));
  const text = canonicalJson({ ...claim, ...(held !== undefined && { held }), ...(losses && { losses }) });
  const tree = batch.addTree([{ mode: '100644', name: FILE, id: batch.addBlob(text) }]);
  const who = claim.worker.replaceAll(/\s+/g, ' ');
  const does = claim.givenBack === true ? 'has given back' : 'works on';
  const message = `${who} ${claim.stoppedBy === undefined ? does : 'has stopped'} ${claim.thread}\n`;
  return { id: batch.addOwnCommit({ tree, parents: [], message }, atMs), batch };
}

/** Reads a claim; `undefined` if there is none, it is not here, or it is malformed. */
export async function findClaim(
  objects: Pick<ObjectStore, 'read' | 'has'>,
  id: ObjectId | null | undefined,
): Promise<Claim | undefined> {
  if (id == null || !(await objects.has(id))) return undefined;
  // The ref at a remote can lead to anything, also to what is here for another reason.
  return readClaim(objects, id).catch(nothingForDataError);
}

/** Reads a claim; `undefined` if it is malformed. Its deadline is within the bounds. */
export async function readClaim(objects: ObjectReader, id: ObjectId): Promise<Claim | undefined> {
  const { tree, parents } = await readCommit(objects, id);
  const [file, ...others] = await readTree(objects, tree);
  if (file?.name !== FILE || others.length > 0 || parents.length > 0) return undefined;
  const data = await readBlob(objects, file.id);
  if (data.length > MAX_BYTES) return undefined;
  const claim = orElse(() => parseJson(Buffer.from(data).toString('utf8')), undefined);
  if (!isClaim(claim)) return undefined;
  const deadlineMs = Math.min(Math.max(claim.deadlineMs, CLAIM_DEADLINES.min), CLAIM_DEADLINES.max);
  return Number.isNaN(deadlineMs) ? undefined : { ...claim, deadlineMs };
}

/** The claim for another commit of its thread: what became of turns of the last one does not count there. */
export function movedTo({ losses, ...claim }: Claim, head: ObjectId | undefined): Claim {
  const isSame = head === claim.head && losses !== undefined;
  return { ...claim, ...(head !== undefined && { head }), ...(isSame && { losses }) };
}

export function claimsRefused(remote: Remote, reason: string): UwfError {
  const hint = hintAtRefusal(remote, reason);
  return new UwfError(`${remote.name} takes no claims of threads: ${reason}`, {
    code: 'claims-refused',
    kind: 'refused',
    ...(hint !== undefined && { hint }),
  });
}

export function claimsMove(remote: Remote): UwfError {
  return new UwfError(`workers change the claims at ${remote.name} all the time`, {
    code: 'claims-move',
    kind: 'conflict',
    hint: 'try again',
  });
}

/** The claim of a thread, as a remote had it when this repository last fetched it. It may have changed since. */
export type KnownClaim = {
  remote: string;
  worker: string;
  host: string;
  role: string | null;
  held: string | null;
  stoppedBy: string | null;
  reason: string | null;
  /** When a fetch, or a push of this machine, found that it had changed, by this machine's clock; null if that is not known. */
  seenAt: string | null;
};

const ofClaim = /^(?<remote>.+)\/claims\/(?<thread>[^/]+)$/;

/**
 * Reads the claims that the remotes of this repository had when they were last seen. Reads the names of tracking refs, and the
 * claims themselves; nothing is fetched. Claims that are malformed are left out.
 * @param thread only its claim
 */
export async function readClaimsHere(repository: Repository, thread?: ThreadId): Promise<Map<ThreadId, KnownClaim>> {
  const { refs, objects } = repository;
  const where = (name: string): boolean =>
    thread === undefined ? name.includes('/claims/') : name.endsWith(`/claims/${thread}`);
  const claims = new Map<ThreadId, KnownClaim>();
  for (const { name, id } of await refs.list(REMOTES_PREFIX, { where })) {
    const { remote, thread: of = '' } = ofClaim.exec(name.slice(REMOTES_PREFIX.length))?.groups ?? {};
    if (remote === undefined || !isThreadId(of)) continue;
    const claim = await findClaim(objects, id);
    if (claim !== undefined && claim.givenBack !== true)
      claims.set(of, asKnown(remote, claim, changedAt(repository, name)));
  }
  return claims;
}

function asKnown(remote: string, claim: Claim, seenAt: string | null): KnownClaim {
  const { worker, host, role = null, held = null, stoppedBy = null, reason = null } = claim;
  return { remote, worker, host, role, held, stoppedBy, reason, seenAt };
}

/** A tracking ref is written when its value changes. One that git has packed has no time of its own. */
function changedAt({ location }: Repository, name: string): string | null {
  const stat = location && lstatSync(join(location.commonDir, name), { throwIfNoEntry: false });
  return stat?.isFile() === true ? iso(Math.round(stat.mtimeMs)) : null;
}
