import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { ObjectBatch, repositoryWith } from '../../git/stores/object-batch.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { SecretScan, type SecretPlace } from '../secrets/secret-scan.ts';
import type { ThreadCode } from './thread-code.ts';

/** Commits for the user's history contain what looks like a secret. */
export class CodeHoldsSecrets extends UwfError {
  readonly places: readonly SecretPlace[];
  constructor({ thread }: ThreadCode, places: readonly SecretPlace[]) {
    super(`the code of thread ${thread} has ${places.length === 1 ? 'a secret' : `${places.length} secrets`}`, {
      code: 'code-holds-secrets',
      kind: 'data',
      hint: `nothing was changed; give --allow-secrets if they are none`,
    });
    this.places = places;
  }
}

/**
 * Searches for secrets in commits of a thread's code, or, if one commit replaces them, in the difference that they make
 * together.
 *
 * @throws {CodeHoldsSecrets}
 */
export async function assertNoSecrets(
  repository: Repository,
  code: ThreadCode,
  commits: readonly ObjectId[] | 'one',
  redactor: Redactor,
): Promise<void> {
  const { base, own, tree, message } = code;
  const batch = new ObjectBatch(repository.objects.format);
  for (const commit of own) batch.add(commit);
  const author = { ...repository.committer, atMs: 0 };
  const whole = { tree, parents: [base], author, committer: author, message };
  const scanned = commits === 'one' ? [batch.addCommit(whole)] : commits;
  const scan = new SecretScan(repositoryWith(repository, batch), redactor);
  const places: SecretPlace[] = [];
  for (const id of scanned) places.push(...(await scan.scanCode(id)));
  if (places.length > 0) throw new CodeHoldsSecrets(code, places);
}
