import { firstLine } from '../../thread/commit-message.ts';
import { paintStatus, type Palette } from '../output/palette.ts';
import { formatMore } from '../output/suspension-markdown.ts';
import { formatDuration, formatTime } from '../../text/wording.ts';
import { harmless, oneLine } from '../output/width.ts';
import type { LogEntry } from './log-entry.ts';

/**
 * One line for an entry: `3F2V04Y8ZNQWE coder approved: one line of the reply`.
 * @param key of the start of a branch: which branch it is
 */
export function formatShort(entry: LogEntry, paint: Palette, key?: string): string {
  const line = oneLine(entry.summary ?? firstLine(entry.text));
  const subject = line === '' || line === entry.status ? '' : `: ${line}`;
  const of = key === undefined ? '' : ` of ${paint.name(oneLine(key))}`;
  return `${paint.id(entry.hash)} ${heading(entry, paint)}${of}${subject}`;
}

/**
 * An entry as `git log` would write a commit.
 *
 * @param position what else its first line says: where a thread's head is
 */
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
