import { expect, test } from 'vitest';
import { NotJson } from '../../src/cas/canonical.ts';
import { InvalidNodeHash, parseNodeHash } from '../../src/cas/hash.ts';
import { InvalidIndex } from '../../src/cas/commit-nodes.ts';
import { HashCollision, HashMismatch, NodeNotFound, NotCanonical } from '../../src/cas/node.ts';
import { nodeTooLarge, TextTooLong } from '../../src/cas/limits.ts';
import { pathTaken } from '../../src/cas/node-tree.ts';
import type { UwfError } from '../../src/errors.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';

const hash = parseNodeHash('EYHPV6X8XHTCS');
const [one, two] = [parseObjectId('1'.repeat(40)), parseObjectId('2'.repeat(40))];

test.each<[UwfError, object]>([
  [
    new NotJson('/a', 'the number NaN'),
    {
      code: 'not-json',
      kind: 'data',
      message: 'the value at /a cannot be stored: the number NaN',
      hint: 'store plain objects, lists, well-formed strings, finite numbers, true, false and null only',
      path: '/a',
      reason: 'the number NaN',
    },
  ],
  [new NotJson('', 'undefined'), { message: 'the value cannot be stored: undefined' }],
  [
    new InvalidNodeHash('x'),
    {
      code: 'invalid-node-hash',
      kind: 'usage',
      message: "'x' is not a node hash",
      hint: 'a node hash has 13 characters out of 0-9 and A-Z without I, L, O and U, the first at most F',
      text: 'x',
    },
  ],
  [
    new InvalidIndex(3, 'out of order'),
    {
      code: 'invalid-index',
      kind: 'data',
      message: 'the index of a tree is damaged in line 3: out of order',
      hint: 'it was not written by uwf; fetch the thread again',
      line: 3,
      reason: 'out of order',
    },
  ],
  [new InvalidIndex(0, 'cut off'), { message: 'the index of a tree is damaged: cut off' }],
  [
    new HashMismatch(hash, 'it is not UTF-8'),
    {
      code: 'hash-mismatch',
      kind: 'data',
      message: `what is stored as node ${hash} is something else: it is not UTF-8`,
      hint: "the data was changed or forged; run 'uwf fsck' and fetch the thread again",
      hash,
    },
  ],
  [
    new NotCanonical(hash),
    {
      code: 'not-canonical',
      kind: 'data',
      message: `node ${hash} is not stored in its canonical form`,
      hint: 'it was not written by uwf; store the node again',
      hash,
    },
  ],
  [
    nodeTooLarge('it has 2 bytes'),
    {
      code: 'node-too-large',
      kind: 'data',
      message: 'this cannot be stored as a node: it has 2 bytes',
      hint: 'keep what is larger in a file of the repository, and name or pin that',
    },
  ],
  [
    new NodeNotFound(hash),
    {
      code: 'node-not-found',
      kind: 'data',
      message: `there is no node ${hash}`,
      hint: "check the hash, or run 'uwf reindex' if the node should be in this repository",
      hash,
    },
  ],
  [
    new HashCollision(hash, [one, two]),
    {
      code: 'hash-collision',
      kind: 'data',
      message: `two different objects, ${one} and ${two}, claim to be node ${hash}`,
      hint: 'find out where the thread came from and do not go on with it',
      hash,
      oids: [one, two],
    },
  ],
  [
    pathTaken('a/b'),
    { code: 'path-taken', kind: 'usage', message: "two things were to be stored at 'a/b'", path: 'a/b' },
  ],
  [
    new TextTooLong('the prompt is long'),
    {
      code: 'text-too-long',
      kind: 'usage',
      message: 'the prompt is long; nothing was stored',
      hint: 'write it to a file of the repository and say in the text where it is',
    },
  ],
])('%s', (error, properties) => {
  expect(error).toMatchObject(properties);
});
