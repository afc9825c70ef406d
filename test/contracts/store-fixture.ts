import type * as NodeFs from 'node:fs';
import { encodeCommit, encodeTree } from '../../src/git/format/objects.ts';
import { hashObject } from '../../src/git/format/object-id.ts';
import type { GitObject, ObjectId } from '../../src/git/format/object-id.ts';
import type { ObjectStore, RefName, RefStore } from '../../src/git/repository.ts';
import { parseRefName } from '../../src/git/format/refs.ts';

/** What the contract suites need of an implementation: an empty repository, and a way to look behind its back. */
export type StoreFixture = {
  objects: ObjectStore;
  refs: RefStore;
  /** Opens the same repository a second time, with nothing remembered. */
  reopen(): Promise<{ objects: ObjectStore; refs: RefStore }>;
  /** The file system the repository lies on, for arranging leftovers and damage. */
  fs: Pick<
    typeof NodeFs,
    'existsSync' | 'mkdirSync' | 'readFileSync' | 'readdirSync' | 'rmSync' | 'statSync' | 'writeFileSync' | 'utimesSync'
  >;
  gitdir: string;
  /** Fails unless `git fsck --strict` is content with the repository. */
  expectSound(): void;
};

export type CreateFixture = () => Promise<StoreFixture>;

export const blob = (text: string): GitObject => ({ type: 'blob', data: Buffer.from(text) });
export const emptyTree: GitObject = { type: 'tree', data: encodeTree([]) };

const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };

/** Writes commits that refs can point at, each told apart by its message. */
export async function writeCommits(objects: ObjectStore, ...messages: string[]): Promise<ObjectId[]> {
  const commits = messages.map((message): GitObject => {
    const tree = hashObject(emptyTree, objects.format);
    return { type: 'commit', data: encodeCommit({ tree, parents: [], author: who, committer: who, message }) };
  });
  const written = await objects.write([emptyTree, ...commits]);
  await written.release();
  return commits.map((commit) => hashObject(commit, objects.format));
}

export const ref = (name: string): RefName => parseRefName(`refs/${name}`);
