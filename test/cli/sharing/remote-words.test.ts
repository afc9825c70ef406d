import { expect, test } from 'vitest';
import { readRemoteWords } from '../../../src/cli/sharing/choose-threads.ts';

const id = '01KTWEWZ760000000000000000';

test.each([
  [[], { remote: undefined, threads: [] }],
  [['origin'], { remote: 'origin', threads: [] }],
  [['origin', id, '01KT'], { remote: 'origin', threads: [id, '01KT'] }],
  [['git@example.org:x.git', id], { remote: 'git@example.org:x.git', threads: [id] }],
  [['../other'], { remote: '../other', threads: [] }],
  [[id], { remote: undefined, threads: [id] }],
  [['01kt'], { remote: undefined, threads: ['01kt'] }],
  [['01KT', id], { remote: undefined, threads: ['01KT', id] }],
  [['./01KT'], { remote: './01KT', threads: [] }],
  // A remote of this name there is; and three characters, or letters that ids do not have, are no id.
  [['0acc', id], { remote: '0acc', threads: [id] }],
  [['01K'], { remote: '01K', threads: [] }],
  [['0old'], { remote: '0old', threads: [] }],
  [['2fast'], { remote: '2fast', threads: [] }],
])('%j is read as %j', ([first, ...others], expected) => {
  expect(readRemoteWords(first, others, ['origin', '0acc'])).toEqual(expected);
});
