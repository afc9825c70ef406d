import type { StoredNode } from '../../cas/node-source.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { Commit } from '../../git/format/commit.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { ObjectBatch } from '../../git/stores/object-batch.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { typeNameOf } from '../../schema/built-in.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { findRecordedFiles } from '../../thread/read/recorded-files.ts';
import { FileRedaction } from './redact-files.ts';
import type { Redaction } from './redaction.ts';

/** The recorded files of a step without secrets: a snapshot and its tree. */
export type CleanFiles = { tree: ObjectId; commit: ObjectId };

/** Writes the files that steps recorded anew without secrets. */
export class RecordedFilesRewriter {
  /** Snapshots that were written anew, and what they became. */
  readonly snapshots: Map<ObjectId, ObjectId> = new Map();
  readonly #objects: Repository['objects'];
  readonly #batch: ObjectBatch;
  readonly #files: FileRedaction;

  constructor(objects: Repository['objects'], batch: ObjectBatch) {
    this.#objects = objects;
    this.#batch = batch;
    this.#files = new FileRedaction(objects, batch);
  }

  /**
   * Writes the files of a step anew. What the user's code has, too, stays.
   * @returns `undefined` if the step recorded none, or none of them changes
   */
  async rewrite(step: {
    commit: Commit;
    nodes: ReadonlyMap<NodeHash, StoredNode>;
    redaction: Redaction;
  }): Promise<CleanFiles | undefined> {
    const { commit, redaction } = step;
    const node = [...step.nodes.values()].find(({ type }) => typeNameOf(type) === 'thread-step');
    const { workspace } = node === undefined ? {} : payloadOf(node, 'thread-step');
    const recorded = workspace && (await findRecordedFiles(this.#objects, { commit, node: { workspace } }));
    if (workspace === undefined || recorded === undefined || !recorded.isSnapshot) return undefined;
    const { tree: before, checkedOut } = recorded;
    const tree = await this.#files.tree(before, await this.#codeBehind(checkedOut), redaction);
    const snapshot = await readCommit(this.#objects, workspace.commit);
    const message = redaction.text(snapshot.message);
    const parents = snapshot.parents.map((parent) => this.snapshots.get(parent) ?? parent);
    const after = this.#batch.addCommit({ ...snapshot, tree, parents, message });
    if (after === workspace.commit) return undefined;
    this.snapshots.set(workspace.commit, after);
    return { tree, commit: after };
  }

  /**
   * The tree of the user's code behind a snapshot. The work tree of a branch begins at a snapshot of its caller; if that was
   * written anew, it is no code, and what it stands on counts.
   */
  async #codeBehind(checkedOut: ObjectId | undefined): Promise<ObjectId[]> {
    let at = checkedOut;
    while (at !== undefined && this.snapshots.has(at)) [at] = (await readCommit(this.#objects, at)).parents;
    return at === undefined ? [] : [(await readCommit(this.#objects, at)).tree];
  }
}
