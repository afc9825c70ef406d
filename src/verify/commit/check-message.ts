import { iso } from '../../iso.ts';
import { encodeCommit, parseCommit } from '../../git/format/commit.ts';
import type { Identity } from '../../git/repository.ts';
import { type Beside, messageOfCommit } from '../../thread/commit-message.ts';
import { authorOf, roleOf, type ThreadCommit, timeOfCommit } from '../../thread/thread-commit.ts';
import { MAX_ID_TIME_MS } from '../../thread/thread-id.ts';
import type { ReportFault } from '../fault.ts';

/**
 * Checks the parts of a commit that repeat nodes of the thread: its message, its author and its dates.
 *
 * @param beside what the message tells beside the commit's node
 * @param before the commit before; `undefined` for a start
 */
export function checkMessage(
  commit: ThreadCommit,
  beside: Beside,
  before: Pick<ThreadCommit, 'kind' | 'commit'> | undefined,
  report: ReportFault,
): void {
  const { message } = commit.commit;
  const expected = messageOfCommit(commit, beside);
  if (message !== expected) report(null, describeDifference(message, expected));
  checkSignatures(commit, beside, before, report);
}

function describeDifference(written: string, expected: string): string {
  const [is, wanted] = [written.split('\n'), expected.split('\n')];
  const at = is.findIndex((line, place) => line !== wanted[place]);
  const place = at === -1 ? is.length : at;
  return `its message says ${quote(is[place])} where its nodes say ${quote(wanted[place])}`;
}

function checkSignatures(
  commit: ThreadCommit,
  { agent }: Pick<Beside, 'agent'>,
  before: Pick<ThreadCommit, 'kind' | 'commit'> | undefined,
  report: ReportFault,
): void {
  const atMs = Math.floor(timeOfCommit(commit) / 1000) * 1000;
  // The id of a child that the commit calls holds this date.
  if (atMs > MAX_ID_TIME_MS) return report(null, 'its date is later than the id of a thread can hold');
  const { author, committer } = commit.commit;
  for (const [who, { atMs: saidMs }] of Object.entries({ author, committer })) {
    if (saidMs !== atMs) report(null, `its ${who} date is ${iso(saidMs)}, its node's time is ${iso(atMs)}`);
  }
  const expected = asStored(authorOf(roleOf(commit), agent, committer, before), commit);
  if (author.name !== expected.name || author.email !== expected.email) {
    report(null, `its author is ${author.name} <${author.email}>, not ${expected.name} <${expected.email}>`);
  }
}

/** An author as a commit stores it, without the characters that git does not allow. */
function asStored({ name, email }: Identity, { commit }: ThreadCommit): Identity {
  const author = { ...commit.author, name, email };
  return parseCommit(encodeCommit({ ...commit, author, message: '' })).author;
}

function quote(line: string | undefined): string {
  return line === undefined ? 'nothing' : `'${line}'`;
}
