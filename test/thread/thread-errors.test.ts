import { expect, test } from 'vitest';
import { parseNodeHash } from '../../src/cas/hash.ts';
import { UwfError } from '../../src/errors.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import {
  ambiguousThread,
  CorruptThread,
  LinkTakenBack,
  NewerFormat,
  NoRefOfItsOwn,
  ThreadMoved,
  ThreadNotFound,
  WrongThreadState,
} from '../../src/thread/thread-errors.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';

const thread = parseThreadId('01KTWEWZ76000000000000000A');
const other = parseThreadId('01KTWEWZ76000000000000000B');
const commit = parseObjectId('1'.repeat(40));
const hash = parseNodeHash('0123456789ABC');

const candidates = Array.from({ length: 7 }, (_, at) => parseThreadId(`01KTWEWZ7600000000000000${at}A`));

test.each<[string, () => UwfError, object]>([
  [
    'a thread that does not exist',
    () => new ThreadNotFound('01K'),
    {
      code: 'thread-not-found',
      kind: 'usage',
      message: "there is no thread '01K'",
      hint: "run 'uwf thread list --all' to see every thread",
      text: '01K',
    },
  ],
  [
    'a thread that is archived, and how to bring it back',
    () => new ThreadNotFound('01KT', { thread, remote: 'origin' }),
    {
      code: 'thread-not-found',
      kind: 'usage',
      message: `thread ${thread} is archived at origin`,
      hint: `'uwf fetch origin ${thread}' brings it here`,
      text: '01KT',
    },
  ],
  [
    'a prefix of two threads, with both',
    () => ambiguousThread('01KT', [thread, other]),
    {
      code: 'ambiguous-thread',
      kind: 'usage',
      message: `'01KT' could be any of 2 threads: ${thread}, ${other}`,
      hint: 'give more characters',
      candidates: [thread, other],
    },
  ],
  [
    'a prefix of many threads, with the first five',
    () => ambiguousThread('0', candidates),
    { message: `'0' could be any of 7 threads: ${candidates.slice(0, 5).join(', ')}`, candidates },
  ],
  [
    'a writer that was overtaken with nothing to keep',
    () => new ThreadMoved(thread, undefined, commit),
    {
      code: 'thread-moved',
      kind: 'conflict',
      message: `thread ${thread} moved on while this was being written`,
      hint: 'look at the thread again and repeat',
      thread,
      fork: undefined,
      head: commit,
    },
  ],
  [
    'a writer that was overtaken, and the fork that keeps its turn',
    () => new ThreadMoved(thread, other, undefined),
    {
      code: 'thread-moved',
      kind: 'conflict',
      message: `thread ${thread} moved on while this turn ran; what came of it is kept as thread ${other}`,
      hint: `run 'uwf thread show ${other}' to see it`,
      thread,
      fork: other,
      head: undefined,
    },
  ],
  [
    'a commit that violates the format',
    () => new CorruptThread(commit, 'its tree is empty'),
    {
      code: 'corrupt-thread',
      kind: 'data',
      message: `commit ${commit} is not a sound part of a thread: its tree is empty`,
      hint: `look at it with 'git show --stat ${commit}' and check the repository with 'git fsck'`,
      commit,
    },
  ],
  [
    'a node of a type that is not known',
    () => new NewerFormat(commit, 'step.json', hash),
    {
      code: 'newer-format',
      kind: 'data',
      message: `step.json of commit ${commit} has the type ${hash}, which this version of uwf does not know`,
      hint: 'update uwf: a newer version wrote this thread, and it reads the threads of every earlier one',
      commit,
      type: hash,
    },
  ],
  [
    'a link to what was taken back',
    () => new LinkTakenBack(hash),
    {
      code: 'link-taken-back',
      kind: 'conflict',
      message: `the reply links to ${hash}, which was taken back before the step could take it in`,
      hint: "put it again with 'uwf cas put', then resume the thread",
      hash,
    },
  ],
  [
    'a child thread that its caller keeps',
    () => new NoRefOfItsOwn(thread, other),
    {
      code: 'no-ref-of-its-own',
      kind: 'usage',
      message: `thread ${thread} has no ref here: it is part of thread ${other}`,
      hint: `name ${other}; what happens to that happens to all of it`,
    },
  ],
  [
    'a thread in the wrong state',
    () => new WrongThreadState(thread, 'ended', 'it takes no more steps', 'reopen it'),
    {
      code: 'wrong-thread-state',
      kind: 'usage',
      message: `thread ${thread} is ended: it takes no more steps`,
      hint: 'reopen it',
      thread,
      status: 'ended',
    },
  ],
])('an error tells of %s', (_, make, told) => {
  const error = make();
  expect(error).toBeInstanceOf(UwfError);
  expect(error).toMatchObject(told);
});

test('the error of a corrupt thread keeps what showed it', () => {
  const cause = new Error('no JSON');
  expect(new CorruptThread(commit, 'step.json', cause).cause).toBe(cause);
});
