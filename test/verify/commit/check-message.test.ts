import { describe, expect, test } from 'vitest';
import type { ThreadCommit, ThreadCommitKind } from '../../../src/thread/thread-commit.ts';
import { checkMessage, trailersOf } from '../../../src/verify/commit/check-message.ts';
import { commitOf, faultsOf, hashOf } from './plain-commits.ts';

const agent = { name: 'robot', package: 'builtin:scripted', version: '1', config: {} };
const usage = { inputTokens: 10, outputTokens: 5, turns: 1 };
const step = commitOf('step', 2, { meta: { $status: 'done' }, usage });

/** The trailers that commits have which are number 2, and when: their node's time in whole seconds. */
const written: Record<ThreadCommitKind, [ThreadCommit, string[], number]> = {
  start: [commitOf('start', 2), ['Uwf-Type: thread-start'], 1_795_262_400_000],
  step: [
    step,
    [
      'Uwf-Type: thread-step',
      'Uwf-Role: writer',
      'Uwf-Status: done',
      'Uwf-Agent: robot',
      'Uwf-Tokens: 15',
      'Uwf-Duration: 1.6s',
    ],
    1_795_262_401_000,
  ],
  suspend: [
    commitOf('suspend', 2),
    ['Uwf-Type: thread-suspend', 'Uwf-Role: writer', 'Uwf-Status: suspended', 'Uwf-Agent: robot'],
    1_795_262_402_000,
  ],
  resume: [commitOf('resume', 2), ['Uwf-Type: thread-resume'], 1_795_262_403_000],
  end: [commitOf('end', 2), ['Uwf-Type: thread-end', 'Uwf-Status: completed'], 1_795_262_404_000],
};
const kinds: readonly ThreadCommitKind[] = ['start', 'step', 'suspend', 'resume', 'end'];

type Change = { message?: string; authorMs?: number; committerMs?: number; name?: string; email?: string };

/** A commit with this message, by the agent in its role, at its node's time. */
function sealed(kind: ThreadCommitKind, change: Change = {}): ThreadCommit {
  const [commit, lines, atMs] = written[kind];
  const message = ['A title', '', 'Words.', '', `Uwf-Node: ${hashOf(2)}`, ...lines, ''].join('\n');
  const { authorMs = atMs, committerMs = atMs, name = 'writer', email = 'robot@uwf' } = change;
  const author = { name, email, atMs: authorMs };
  const committer = { name: 'C', email: 'c@d', atMs: committerMs };
  return { ...commit, commit: { ...commit.commit, message: change.message ?? message, author, committer } };
}

const faultsIn = (commit: ThreadCommit, by: typeof agent | undefined = agent): string[] =>
  faultsOf((report) => checkMessage(commit, by, report));

describe('the message of a commit', () => {
  test.each(kinds)('repeats what its node says: %s', (kind) => {
    expect(faultsIn(sealed(kind))).toEqual([]);
  });

  test.each(kinds)('may not leave out its last trailer, nor have one more: %s', (kind) => {
    const lines = sealed(kind).commit.message.trimEnd().split('\n');
    const less = sealed(kind, { message: lines.slice(0, -1).join('\n') });
    expect(faultsIn(less)).toEqual([`its message says nothing where its node says '${lines.at(-1)}'`]);
    const more = sealed(kind, { message: [...lines, 'Signed-off-by: A'].join('\n') });
    expect(faultsIn(more)).toEqual(["its message has a trailer too many: 'Signed-off-by: A'"]);
  });

  test('may not say anything else, of which the first is told', () => {
    const message = sealed('step').commit.message.replace('writer', 'checker').replace('done', 'again');
    expect(faultsIn(sealed('step', { message }))).toEqual([
      "its message says 'Uwf-Role: checker' where its node says 'Uwf-Role: writer'",
    ]);
    expect(faultsIn(sealed('end', { message: '' }))).toEqual([
      `its message says '' where its node says 'Uwf-Node: ${hashOf(2)}'`,
    ]);
  });

  test.each([
    [2 ** 48 - 1, []],
    [2 ** 48 + 1000, ['its date is later than the id of a thread can hold']],
    [9_000_000_000_000_000, ['its date is later than the id of a thread can hold']],
  ])('has a date that the id of a thread can hold: %d', (completedAtMs, faults) => {
    const atMs = Math.floor(completedAtMs / 1000) * 1000;
    const { commit } = sealed('step', { authorMs: atMs, committerMs: atMs });
    const node = { ...step.node, startedAtMs: completedAtMs - 1600, completedAtMs };
    expect(faultsIn({ ...step, node, commit })).toEqual(faults);
  });

  test('names no agent, status or tokens where its node names none', () => {
    const { node } = step;
    expect(trailersOf({ ...step, node: { ...node, meta: { $status: 1 }, usage: null } }, undefined)).toEqual({
      node: hashOf(2),
      type: 'thread-step',
      role: 'writer',
      status: null,
      durationMs: 1567,
    });
    expect(trailersOf(commitOf('suspend', 2), undefined)).toEqual({
      node: hashOf(2),
      type: 'thread-suspend',
      role: 'writer',
      status: 'suspended',
    });
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
  test.each<ThreadCommitKind>(['step', 'suspend'])('is the agent in its role: %s', (kind) => {
    const wanted = 'not writer <robot@uwf>';
    expect(faultsIn(sealed(kind, { name: 'checker' }))).toEqual([`its author is checker <robot@uwf>, ${wanted}`]);
    expect(faultsIn(sealed(kind, { email: 'a@uwf' }))).toEqual([`its author is writer <a@uwf>, ${wanted}`]);
  });

  test.each<ThreadCommitKind>(['start', 'resume', 'end'])('is anybody where there is no role: %s', (kind) => {
    expect(faultsIn(sealed(kind, { name: 'Anne', email: 'anne@example.org' }))).toEqual([]);
  });

  test('is not compared where the agent is not known', () => {
    const message = sealed('step').commit.message.replace('Uwf-Agent: robot\n', '');
    expect(faultsOf((report) => checkMessage(sealed('step', { message, name: 'Anne' }), undefined, report))).toEqual(
      [],
    );
  });

  test('has no characters that git does not store', () => {
    const odd = sealed('step', { name: 'a b' });
    const role = 'a<b';
    const message = odd.commit.message.replace('Uwf-Role: writer', `Uwf-Role: ${role}`);
    const commit = commitOf('step', 2, { role, meta: { $status: 'done' }, usage });
    expect(faultsIn({ ...commit, commit: { ...odd.commit, message } })).toEqual([]);
  });
});
