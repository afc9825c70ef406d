import { UwfError } from '../errors.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { SecretScan } from '../thread/secrets/secret-scan.ts';
import type { Offer } from './offer-thread.ts';
import { GONE, Outgoing, type OutgoingVerdict } from './outgoing.ts';
import type { Redactions } from './redactions.ts';
import type { RemoteRefs } from './remote-refs.ts';
import type { Refusal, WorkflowChange } from './report.ts';
import type { SyncOptions } from './sync-options.ts';
import { UnpublishedCode } from './unpublished-code.ts';

export const UNPUBLISHED = 'its steps follow commits of your code that the remote does not have';

/** A report names no more places and commits of one thread than this. */
const MAX_NAMED = 1_000;

/** Keeps from a push what must not leave: what is no thread, commits of the user's code, secrets. */
export class HoldBack {
  readonly #repository: Repository;
  readonly #options: SyncOptions;
  readonly #scan: SecretScan | undefined;
  readonly #outgoing: Outgoing;
  readonly #code: UnpublishedCode;

  constructor(repository: Repository, there: RemoteRefs, redactions: Redactions, options: SyncOptions) {
    this.#repository = repository;
    this.#options = options;
    this.#scan = options.redactor && new SecretScan(repository, options.redactor);
    this.#outgoing = new Outgoing(repository, there, (id) => redactions.isGone(id), this.#scan);
    this.#code = new UnpublishedCode(repository, there, options);
  }

  /** Says of each offer what it would publish, and holds it where it may not. */
  async threads(offers: readonly Offer[]): Promise<void> {
    for (const [at, offer] of offers.entries()) {
      if (at > 0 && at % 100 === 0) this.#options.onProgress?.(`looked through ${at} of ${offers.length} threads`);
      await this.#judge(offer);
    }
    const open = offers.filter(({ held }) => held === undefined);
    const changes = new Map(open.map((offer) => [offer, { head: offer.change?.head ?? null, before: basisOf(offer) }]));
    const missing = await this.#code.of([...changes.values()]);
    for (const [offer, change] of changes) {
      const commits = missing.get(change);
      if (commits !== undefined) {
        offer.commits = commits.slice(0, MAX_NAMED);
        if (this.#options.withCommits !== true) offer.held = UNPUBLISHED;
        else {
          const inCode = await this.#outgoing.judgeCode(commits.map(({ commit }) => commit));
          offer.secrets = [...(offer.secrets ?? []), ...inCode];
        }
      }
      const reason = offer.held === undefined ? this.#reasonOf(offer.secrets) : undefined;
      if (reason !== undefined) offer.held = reason;
      offer.secrets &&= offer.secrets.slice(0, MAX_NAMED);
    }
  }

  /** Says why a new version of a workflow may not go; `undefined` if it may. */
  async workflow(ref: string, { workflow, head, before }: WorkflowChange): Promise<Refusal | undefined> {
    const { judgeRegistration } = await import('./outgoing-registrations.ts');
    const { fault, secrets } = await orFault(
      judgeRegistration(this.#repository, { workflow, head, before }, this.#scan),
    );
    if (fault !== undefined) return { ref, reason: `it is no sound registry: ${fault}`, isUnsound: true };
    const reason = this.#reasonOf(secrets);
    return reason === undefined ? undefined : { ref, reason, secrets: secrets.slice(0, MAX_NAMED) };
  }

  async #judge(offer: Offer): Promise<void> {
    const { thread, edits, change } = offer;
    const name = edits.find(({ value }) => value !== null)?.name;
    if (change === undefined || change.head === null || name === undefined) return;
    const ref = { name, thread, head: change.head, before: basisOf(offer) };
    const { fault, secrets } = await orFault(this.#outgoing.judge(ref, this.#options.signal));
    offer.secrets = secrets;
    if (fault === undefined) return;
    offer.held = fault === GONE ? `${GONE}: take them out here, too` : `it is no sound thread: ${fault}`;
    if (fault !== GONE) offer.isUnsound = true;
  }

  #reasonOf(secrets: readonly object[] = []): string | undefined {
    if (secrets.length === 0 || this.#options.allowSecrets === true) return undefined;
    return `it has ${secrets.length === 1 ? 'a secret' : `${secrets.length} secrets`}`;
  }
}

/** What of the remote's a thread goes on from: nothing of one that was written anew. */
function basisOf({ change }: Offer): ObjectId | null {
  return change === undefined || change.change === 'redacted' ? null : change.before;
}

/** What cannot be read, because of what it is made of, keeps nothing else from being pushed. */
function orFault(verdict: Promise<OutgoingVerdict>): Promise<OutgoingVerdict> {
  return verdict.catch((error: unknown) => {
    if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
    return { fault: error.message, secrets: [] };
  });
}
