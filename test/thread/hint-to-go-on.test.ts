import { describe, expect, test } from 'vitest';
import type { ThreadCommit } from '../../src/thread/thread-commit.ts';
import { failureReason, hintToGoOn, hintToResume, type WhyItWaits } from '../../src/thread/thread-state.ts';
import { describeOutside } from '../../src/git/format/paths.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';

const id = parseThreadId('01KTWEWZ760000000000000000');
const hint = (why: Partial<WhyItWaits>): string =>
  hintToResume(id, { cause: 'agent', reason: 'Which one?', role: 'writer', ...why }).replaceAll(id, '<id>');

describe('the hint at a suspended thread', () => {
  test.each([
    ['secret', "take them out and run 'uwf thread resume <id>', or store the files as they are with --allow-secrets"],
    ['limit', "'uwf thread resume <id>' goes on, or says how much more it has to be allowed"],
    ['permission', "answer with 'uwf thread resume <id> -p yes' (or no)"],
    [
      'child',
      "'uwf thread show <id>' names the child thread that it waits for; 'uwf thread resume <id>' goes on with that",
    ],
    ['human', "answer with 'uwf thread resume <id> -p <answer>'"],
    ['rule', "'uwf thread resume <id>' decides again"],
    ['agent', "answer with 'uwf thread resume <id> -p <answer>'"],
    ['invalid-reply', "'uwf thread resume <id>' takes the turn again, once what stopped it is put right"],
    ['timeout', "'uwf thread resume <id>' takes the turn again, once what stopped it is put right"],
  ] as const)('that stopped for %s', (cause, expected) => {
    expect(hint({ cause })).toBe(expected);
  });

  test('that stopped for isolation says whether a resume alone is enough to store the turn', () => {
    const go = "'uwf thread resume <id>' stores the turn, 'uwf thread resume <id> -p <what to do>' takes it again";
    const cause = 'isolation';
    expect(hint({ cause, reason: describeOutside('writer', { given: { index: true } }) })).toBe(
      `look at what changed; ${go}`,
    );
    const reason = 'not all files that writer left could be recorded: a.bin has 9 bytes';
    expect(hint({ cause, reason })).toBe(`once that is put right, ${go}`);
  });

  test('asks for no answer where the agent failed, or where only time has to pass', () => {
    const again = "'uwf thread resume <id>' takes the turn again, once what stopped it is put right";
    expect(hint({ reason: failureReason('writer', 1, ['no', 'connection']) })).toBe(again);
    expect(hint({ reason: failureReason('writer', 3, ['no', 'connection']) })).toBe(again);
    expect(hint({ reason: failureReason('checker', 1, ['no']) })).toContain('answer with');
    expect(hint({ due: 1 })).toBe("'uwf thread resume <id>' takes the turn again, when that time has come");
  });
});

test('the reason of a turn that failed tells its role, its tries and its errors', () => {
  expect(failureReason('writer', 1, ['no', 'way'])).toBe('writer failed: no; way');
  expect(failureReason('writer', 2, ['no'])).toBe('writer failed in 2 tries: no');
});

test('a thread that is not suspended takes its next step', () => {
  // The kind of the head, and the node of a suspension, are all that is looked at.
  const head = (commit: object): ThreadCommit => commit as ThreadCommit;
  expect(hintToGoOn({ id, head: head({ kind: 'step' }) })).toBe(`run 'uwf thread step ${id}'`);
  const node = { cause: 'human', reason: 'ok?', role: 'writer' };
  expect(hintToGoOn({ id, head: head({ kind: 'suspend', node }) })).toBe(
    `answer with 'uwf thread resume ${id} -p <answer>'`,
  );
});
