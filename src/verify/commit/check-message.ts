import { iso } from '../../iso.ts';
import { encodeCommit, parseCommit, type Signature } from '../../git/format/commit.ts';
import type { AgentRecord } from '../../schema/built-in/agent.ts';
import { trailerLines, type Trailers } from '../../thread/append/commit-message.ts';
import { fileTypes, statusOf, timeOfCommit, type ThreadCommit, type ThreadEvent } from '../../thread/thread-commit.ts';
import { roleIdentity } from '../../thread/append/draft-commit.ts';
import { MAX_ID_TIME_MS } from '../../thread/thread-id.ts';
import type { ReportFault } from '../fault.ts';

/**
 * Checks the parts of a commit that repeat its node: the trailers of the message, the author and the dates. The rest of the
 * message is for people, and is not compared.
 *
 * @param agent the agent that a step or a suspension names
 */
export function checkMessage(commit: ThreadCommit, agent: AgentRecord | undefined, report: ReportFault): void {
  const written = commit.commit.message
    .trimEnd()
    .replace(/.*\n\n/s, '')
    .split('\n');
  const expected = trailerLines(trailersOf(commit, agent));
  for (const [at, line] of expected.entries()) {
    if (written[at] === line) continue;
    report(null, `its message says ${quote(written[at])} where its node says ${quote(line)}`);
    return;
  }
  if (written.length > expected.length) report(null, `its message has a trailer too many: ${quote(written.at(-1))}`);
  checkSignatures(commit, agent, report);
}

function checkSignatures(commit: ThreadCommit, agent: AgentRecord | undefined, report: ReportFault): void {
  const atMs = Math.floor(timeOfCommit(commit) / 1000) * 1000;
  // The id of a child that the commit calls holds this date.
  if (atMs > MAX_ID_TIME_MS) return report(null, 'its date is later than the id of a thread can hold');
  const { author, committer } = commit.commit;
  for (const [who, { atMs: saidMs }] of Object.entries({ author, committer })) {
    if (saidMs !== atMs) report(null, `its ${who} date is ${iso(saidMs)}, its node's time is ${iso(atMs)}`);
  }
  if (agent === undefined || !('role' in commit.node)) return;
  const expected = asStored({ ...roleIdentity(commit.node.role, agent.name), atMs }, commit);
  if (author.name !== expected.name || author.email !== expected.email) {
    report(null, `its author is ${author.name} <${author.email}>, not ${expected.name} <${expected.email}>`);
  }
}

/** An author as a commit stores it, without the characters that git does not allow. */
function asStored(author: Signature, { commit }: ThreadCommit): Signature {
  return parseCommit(encodeCommit({ ...commit, author, message: '' })).author;
}

/** The trailers that a commit has to have. @param agent the agent that a step or a suspension names */
export function trailersOf(commit: Pick<ThreadCommit, 'hash'> & ThreadEvent, agent: AgentRecord | undefined): Trailers {
  const trailers: Trailers = { node: commit.hash, type: fileTypes[commit.kind] };
  const by = agent && { agent: agent.name };
  switch (commit.kind) {
    case 'step': {
      const { role, meta, usage, startedAtMs, completedAtMs } = commit.node;
      const tokens = usage && { tokens: usage.inputTokens + usage.outputTokens };
      const durationMs = completedAtMs - startedAtMs;
      return { ...trailers, role, status: statusOf(meta), ...by, ...tokens, durationMs };
    }
    case 'suspend':
      return { ...trailers, role: commit.node.role, status: 'suspended', ...by };
    case 'end':
      return { ...trailers, status: commit.node.outcome };
    default:
      return trailers;
  }
}

function quote(line: string | undefined): string {
  return line === undefined ? 'nothing' : `'${line}'`;
}
