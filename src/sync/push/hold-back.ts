import type { ObjectId } from '../../git/format/object-id.ts';
import type { RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import { assertDataError } from '../../thread/thread-errors.ts';
import { SecretScan } from '../../thread/secret-scan.ts';
import type { Offer } from './offer-thread.ts';
import { Outgoing, type OutgoingVerdict } from './outgoing.ts';
import type { Refusal, WorkflowChange } from '../report.ts';
import type { SyncOptions } from '../sync-options.ts';
import { findUnpublishedCode } from './unpublished-code.ts';

const UNPUBLISHED = 'its steps follow commits of your code that the remote does not have';

/** A report names at most this many places and commits of one thread. */
const MAX_NAMED = 1_000;

/** Holds what must not leave this repository: unsound threads, unpublished commits of the user's code, secrets. */
export class HoldBack {
  readonly #repository: Repository;
  readonly #options: SyncOptions;
  readonly #scan: SecretScan | undefined;
  readonly #outgoing: Outgoing;
  readonly #listAll: () => Promise<readonly RemoteRef[]>;

  /** @param listAll lists all refs of the remote */
  constructor(repository: Repository, listAll: () => Promise<readonly RemoteRef[]>, options: SyncOptions) {
    this.#repository = repository;
    this.#options = options;
    this.#scan = options.redactor && new SecretScan(repository, options.redactor);
    this.#outgoing = new Outgoing(repository, listAll, this.#scan);
    this.#listAll = listAll;
  }

  /** Adds to each offer what it would publish, and holds it if that is not allowed. */
  async threads(offers: readonly Offer[]): Promise<void> {
    for (const [at, offer] of offers.entries()) {
      if (at > 0 && at % 100 === 0) this.#options.onProgress?.(`looked through ${at} of ${offers.length} threads`);
      await this.#check(offer);
    }
    const open = offers.filter(({ held }) => held === undefined);
    const changes = new Map<Offer, { head: ObjectId | null; before: ObjectId | null }>();
    for (const offer of open)
      changes.set(offer, { head: offer.change?.head ?? null, before: await this.#baseOf(offer) });
    const { env } = this.#options;
    const missing = await findUnpublishedCode(this.#repository, changes, this.#listAll, holdUnsound, env);
    for (const offer of open) {
      if (offer.held !== undefined) continue;
      const commits = missing.get(offer);
      if (commits !== undefined) {
        offer.commits = commits.slice(0, MAX_NAMED);
        if (this.#options.withCommits !== true) offer.held = UNPUBLISHED;
        else {
          const inCode = await this.#outgoing.checkCode(commits.map(({ commit }) => commit));
          offer.secrets = [...(offer.secrets ?? []), ...inCode];
        }
      }
      const reason = offer.held === undefined ? this.#reasonOf(offer.secrets) : undefined;
      if (reason !== undefined) offer.held = reason;
      offer.secrets &&= offer.secrets.slice(0, MAX_NAMED);
    }
  }

  /** Returns why a new version of a workflow may not leave; `undefined` if it may. */
  async workflow(ref: string, { workflow, head, before }: WorkflowChange): Promise<Refusal | undefined> {
    const { checkRegistration } = await import('./outgoing-registrations.ts');
    const { fault, secrets } = await orFault(
      checkRegistration(this.#repository, { workflow, head, before }, this.#scan),
    );
    if (fault !== undefined) return { ref, reason: `it is no sound registry: ${fault}`, isUnsound: true };
    const reason = this.#reasonOf(secrets);
    return reason === undefined ? undefined : { ref, reason, secrets: secrets.slice(0, MAX_NAMED) };
  }

  async #check(offer: Offer): Promise<void> {
    const { thread, edits, change } = offer;
    const name = edits.find(({ value }) => value !== null)?.name;
    if (change === undefined || change.head === null || name === undefined) return;
    const ref = { name, thread, head: change.head, before: await this.#baseOf(offer) };
    const { fault, secrets } = await orFault(this.#outgoing.check(ref, this.#options.signal));
    offer.secrets = secrets;
    if (fault !== undefined) holdUnsound(offer, fault);
  }

  /** A commit at the remote that the push builds on; `null` if none is known. */
  async #baseOf({ change }: Offer): Promise<ObjectId | null> {
    if (change === undefined || change.head === null) return null;
    return change.before ?? (await this.#outgoing.findBase(change.head));
  }

  #reasonOf(secrets: readonly object[] = []): string | undefined {
    if (secrets.length === 0 || this.#options.allowSecrets === true) return undefined;
    return `it has ${secrets.length === 1 ? 'a secret' : `${secrets.length} secrets`}`;
  }
}

function holdUnsound(offer: Offer, fault: string): void {
  offer.held = `it is no sound thread: ${fault}`;
  offer.isUnsound = true;
}

/** Makes an error about the data a fault, so that the other threads are pushed. */
function orFault(verdict: Promise<OutgoingVerdict>): Promise<OutgoingVerdict> {
  return verdict.catch((error: unknown) => {
    assertDataError(error);
    return { fault: error.message, secrets: [] };
  });
}
