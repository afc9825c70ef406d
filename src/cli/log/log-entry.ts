import type { ObjectId } from '../../git/format/object-id.ts';
import { formatDuration, formatTime } from '../../text/wording.ts';
import { firstLine } from '../../thread/commit-message.ts';
import type { SuspensionOutline } from '../../thread/exchange.ts';
import type { Resumption } from '../../thread/read-said.ts';
import type { ThreadCommitKind } from '../../thread/thread-commit.ts';
import { formatMore, resumptionFields, suspensionFields } from '../output/markdown.ts';
import { harmless, oneLine, paintStatus, type Palette } from '../output/text.ts';

/** A commit of a thread as the log tells it. */
export type LogEntry = {
  kind: ThreadCommitKind;
  /** The node's hash. */
  hash: string;
  /** The commit. */
  head: ObjectId;
  role: string | null;
  /** A step's `$status`, `suspended`, or how the thread ended. */
  status: string | null;
  agent: string | null;
  at: string;
  durationMs: number | null;
  usage: object | null;
  /** What was said: the prompt, the reply, the reason, the answer, the summary. */
  text: string;
  /** Of the output of a program: the last line of it that says something. */
  summary?: string;
  /** Of a suspension: what the agent said before it stopped; '' if nothing. */
  said?: string;
  /** The person who did it, as `name <email>`; absent for what an agent or a rule did. */
  by?: string;
} & Partial<Pick<SuspensionOutline, 'reason' | 'cause' | 'refused' | 'trace' | 'due'> & Resumption>;

export const logFields: Readonly<Record<string, string>> = {
  thread: 'the thread',
  kind: 'start, step, suspend, resume or end',
  hash: "the node's hash",
  head: 'the commit',
  role: 'who did it, or null',
  status: "a step's $status, 'suspended', or how the thread ended",
  agent: 'the agent that did the role, or null',
  by: 'the person who started, resumed or cancelled it, or took the turn, as name <email>; absent for agents and rules',
  at: 'when',
  durationMs: 'how long a step took, or null',
  usage: 'tokens, turns and cost of a turn, where they are known',
  text: 'what was said: the prompt, the reply, the reason, the answer or the summary',
  summary: 'of the output of a program: the last line of it that says something',
  said: 'of a suspension: what the agent said before it stopped',
  ...suspensionFields,
  ...resumptionFields,
  suspension: 'of a resumption: the hash of what it answers',
  refused:
    'of a suspension: replies that were not accepted: attempt (its hash), errors, interrupted (true for a try that was cut off)',
};

/** One line for an entry: `3F2V04Y8ZNQWE coder approved: one line of the reply`; of a branch's start with its `key`. */
export function formatShort(entry: LogEntry, paint: Palette, key?: string): string {
  const line = oneLine(entry.summary ?? firstLine(entry.text));
  const subject = line === '' || line === entry.status ? '' : `: ${line}`;
  const of = key === undefined ? '' : ` of ${paint.name(oneLine(key))}`;
  return `${paint.id(entry.hash)} ${heading(entry, paint)}${of}${subject}`;
}

/** An entry as `git log` would write a commit; `position` tells where a thread's head is. */
export function formatLong(entry: LogEntry, paint: Palette, position: string): string {
  const took = entry.durationMs === null ? '' : `, took ${formatDuration(entry.durationMs)}`;
  const lines = [
    `${paint.id(`${entry.kind} ${entry.hash}`)}${position}`,
    ...(entry.role === null
      ? []
      : [`Role:   ${heading(entry, paint)}${entry.agent ? paint.quiet(`  (${oneLine(entry.agent)})`) : ''}`]),
    ...(entry.cause === undefined ? [] : [`Cause:  ${entry.cause}`]),
    ...(entry.trace ? [`Trace:  'uwf step turns ${entry.hash}' shows it`] : []),
    ...(entry.by === undefined ? [] : [`By:     ${oneLine(entry.by)}`]),
    ...(entry.more === undefined ? [] : [`More:   ${formatMore(entry.more)}`]),
    ...(entry.kind === 'end' ? [`Ended:  ${heading(entry, paint)}`] : []),
    `Date:   ${formatTime(Date.parse(entry.at))}${took}`,
    `Commit: ${entry.head}`,
  ];
  const refused = (entry.refused ?? []).map(
    ({ errors, interrupted }) => `${interrupted ? 'cut off' : 'not accepted'}: ${errors.map(oneLine).join('; ')}`,
  );
  const said = entry.said?.trim() ? `it said:\n\n${harmless(entry.said).trim()}` : '';
  const texts = [harmless(entry.text).trim(), refused.join('\n'), said].filter((text) => text !== '');
  if (texts.length > 0) lines.push('', texts.join('\n\n').replaceAll(/^(?=.)/gm, '    '));
  return lines.join('\n');
}

function heading({ kind, role, status }: LogEntry, paint: Palette): string {
  switch (kind) {
    case 'start':
      return paint.title('start');
    case 'resume':
      return paint.title('resumed');
    case 'end':
      return paintStatus(paint, status ?? '');
    default: {
      const outcome = status === null ? '' : ` ${kind === 'suspend' ? paintStatus(paint, status) : oneLine(status)}`;
      return `${paint.name(role ?? '')}${outcome}`;
    }
  }
}
