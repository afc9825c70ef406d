import { expect, test } from 'vitest';
import { type Commit, encodeCommit } from '../../src/git/format/objects.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { assertCommitFits, MAX_FILE_BYTES } from '../../src/thread/draft-commit.ts';

const signature = { name: 'A', email: 'a@b', atMs: 0 };
const idOf = (number: number): ReturnType<typeof parseObjectId> => parseObjectId(String(number).padStart(40, '0'));

function commitWith(parents: number, message: string): Commit {
  const ids = Array.from({ length: parents }, (_, index) => idOf(index));
  return { tree: idOf(0), parents: ids, author: signature, committer: signature, message };
}

const refusal = (commit: Commit): unknown => {
  try {
    assertCommitFits(commit);
  } catch (error) {
    return error;
  }
  return undefined;
};

test('a commit has at most 2000 parents', () => {
  expect(refusal(commitWith(2000, 'm'))).toBeUndefined();
  expect(refusal(commitWith(2001, 'm'))).toMatchObject({
    message: 'this cannot be stored as a commit: it has 2001 parents, more than 2000',
    code: 'commit-too-large',
    kind: 'data',
    hint: 'name fewer commits and threads, and keep the status and the names of roles and agents short',
  });
});

test('a commit has at most one MiB, whatever it consists of', () => {
  const room = 1024 * 1024 - encodeCommit(commitWith(3, 'm')).byteLength;
  expect(refusal(commitWith(3, 'm'.repeat(room + 1)))).toBeUndefined();
  expect(refusal(commitWith(3, 'm'.repeat(room + 2)))).toMatchObject({
    message: 'this cannot be stored as a commit: it has 1048577 bytes, more than 1048576',
    code: 'commit-too-large',
  });
});

test('a file of a recorded work tree has at most 32 MiB', () => {
  expect(MAX_FILE_BYTES).toBe(33_554_432);
});
