import { SnapshotRefused } from '../git/native/snapshot.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ObjectReader } from '../git/read.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { SecretScan, type FileHit } from '../thread/secrets/secret-scan.ts';

/** Files hold secrets, and files are not edited. */
export class FilesHoldSecrets extends SnapshotRefused {
  readonly places: readonly FileHit[];
  constructor(places: readonly FileHit[]) {
    super('files hold secrets');
    this.places = places;
  }
}

/**
 * Looks for secrets in the files of a tree that differ from those of all others.
 * @throws {FilesHoldSecrets}
 */
export async function assertWithoutSecrets(
  redactor: Redactor,
  objects: ObjectReader,
  tree: ObjectId,
  others: readonly ObjectId[],
): Promise<void> {
  const places = await new SecretScan({ objects }, redactor).scanFiles(tree, others);
  if (places.length > 0) throw new FilesHoldSecrets(places);
}
