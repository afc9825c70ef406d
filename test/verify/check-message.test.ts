import { describe, expect, test } from 'vitest';
import { type Beside, messageOfCommit } from '../../src/thread/commit-message.ts';
import type { ThreadCommit, ThreadCommitKind } from '../../src/thread/thread-commit.ts';
import { checkMessage } from '../../src/verify/check-commit.ts';
import { commitOf, faultsOf } from './commit/plain-commits.ts';

const agent = { name: 'robot', package: 'builtin:scripted', version: '1', config: {} };
const person = { ...agent, name: 'me', package: 'builtin:human' };
const usage = { inputTokens: 10, outputTokens: 5, turns: 1 };
const step = commitOf('step', 2, { meta: { $status: 'done' }, usage });

/** The commits which are number 2, what their messages tell beside the node, and when: their node's time in whole seconds. */
const written: Record<ThreadCommitKind, [ThreadCommit, Beside, number]> = {
  start: [commitOf('start', 2), { text: 'A task', workflow: 'develop' }, 1_795_262_400_000],
  step: [step, { text: '# A title\n\nWords.\n', agent }, 1_795_262_401_000],
  suspend: [commitOf('suspend', 2), { text: '', agent }, 1_795_262_402_000],
  resume: [commitOf('resume', 2), { text: '' }, 1_795_262_403_000],
  end: [commitOf('end', 2), { text: 'A title' }, 1_795_262_404_000],
};
const kinds: readonly ThreadCommitKind[] = ['start', 'step', 'suspend', 'resume', 'end'];
const turns: readonly ThreadCommitKind[] = ['step', 'suspend'];

type Change = { message?: string; authorMs?: number; committerMs?: number; name?: string; email?: string };

/** A commit with this message, by the agent in its role or by its committer, at its node's time. */
function sealed(kind: ThreadCommitKind, change: Change = {}): ThreadCommit {
  const [commit, beside, atMs] = written[kind];
  const committer = { name: 'C', email: 'c@d' };
  const by = turns.includes(kind) ? { name: 'writer', email: 'robot@uwf' } : committer;
  const { authorMs = atMs, committerMs = atMs, name = by.name, email = by.email } = change;
  const message = change.message ?? messageOfCommit(commit, beside);
  const signatures = { author: { name, email, atMs: authorMs }, committer: { ...committer, atMs: committerMs } };
  return { ...commit, commit: { ...commit.commit, message, ...signatures } };
}

const faultsIn = (commit: ThreadCommit, beside: Beside = written[commit.kind][1]): string[] =>
  faultsOf((report) => checkMessage(commit, beside, undefined, report));

describe('the message of a commit', () => {
  test.each(kinds)('is what its nodes say: %s', (kind) => {
    expect(faultsIn(sealed(kind))).toEqual([]);
  });

  test.each(kinds)('is compared line by line: %s', (kind) => {
    const lines = sealed(kind).commit.message.split('\n');
    for (const [place, line] of lines.entries()) {
      const message = lines.with(place, `${line}x`).join('\n');
      expect(faultsIn(sealed(kind, { message }))).toEqual([
        `its message says '${line}x' where its nodes say '${line}'`,
      ]);
    }
    const forged = sealed(kind, { message: sealed(kind).commit.message.replace(/.*/, 'tester: passed') });
    expect(faultsIn(forged)[0]).toMatch(/^its message says 'tester: passed' where its nodes say '/);
  });

  test.each(kinds)('may not leave out its last line, nor have one more: %s', (kind) => {
    const { message } = sealed(kind).commit;
    const lines = message.trimEnd().split('\n');
    expect(faultsIn(sealed(kind, { message: lines.slice(0, -1).join('\n') }))).toEqual([
      `its message says nothing where its nodes say '${lines.at(-1)}'`,
    ]);
    const more = sealed(kind, { message: [...lines, 'Signed-off-by: A', ''].join('\n') });
    expect(faultsIn(more)).toEqual(["its message says 'Signed-off-by: A' where its nodes say ''"]);
    expect(faultsIn(sealed(kind, { message: `${message}\n` }))).toEqual([
      "its message says '' where its nodes say nothing",
    ]);
  });

  test.each([
    [2 ** 48 - 1, []],
    [2 ** 48 + 1000, ['its date is later than the id of a thread can hold']],
    [9_000_000_000_000_000, ['its date is later than the id of a thread can hold']],
  ])('has a date that the id of a thread can hold: %d', (completedAtMs, faults) => {
    const atMs = Math.floor(completedAtMs / 1000) * 1000;
    const node = { ...step.node, startedAtMs: completedAtMs - 1600, completedAtMs };
    const { commit } = sealed('step', { authorMs: atMs, committerMs: atMs });
    expect(faultsIn({ ...step, node, commit })).toEqual(faults);
  });
});

describe('the dates of a commit', () => {
  test.each(kinds)('are the time of its node in whole seconds: %s', (kind) => {
    const [, , atMs] = written[kind];
    const [is, wanted] = [atMs + 1000, atMs].map((ms) => new Date(ms).toISOString());
    expect(faultsIn(sealed(kind, { authorMs: atMs + 1000 }))).toEqual([
      `its author date is ${is}, its node's time is ${wanted}`,
    ]);
    expect(faultsIn(sealed(kind, { committerMs: atMs + 1000 }))).toEqual([
      `its committer date is ${is}, its node's time is ${wanted}`,
    ]);
  });
});

describe('the author of a commit', () => {
  test.each(turns)('is the agent in its role: %s', (kind) => {
    const wanted = 'not writer <robot@uwf>';
    expect(faultsIn(sealed(kind, { name: 'checker' }))).toEqual([`its author is checker <robot@uwf>, ${wanted}`]);
    expect(faultsIn(sealed(kind, { email: 'a@uwf' }))).toEqual([`its author is writer <a@uwf>, ${wanted}`]);
  });

  test.each(kinds)('is its committer where a person made it: %s', (kind) => {
    const [commit, beside] = written[kind];
    const told = turns.includes(kind) ? { ...beside, agent: person } : beside;
    const message = messageOfCommit(commit, told);
    const [mine, others] = [
      sealed(kind, { message, name: 'C', email: 'c@d' }),
      sealed(kind, { message, name: 'Anne', email: 'c@d' }),
    ];
    expect(faultsIn(mine, told)).toEqual([]);
    expect(faultsIn(others, told)).toEqual(['its author is Anne <c@d>, not C <c@d>']);
  });

  test('has no characters that git does not store', () => {
    const commit = commitOf('step', 2, { role: 'a<b', meta: { $status: 'done' }, usage });
    const beside = { text: 'Words.', agent };
    const odd = sealed('step', { name: 'a b', message: messageOfCommit(commit, beside) });
    expect(faultsIn({ ...commit, commit: odd.commit }, beside)).toEqual([]);
  });
});
