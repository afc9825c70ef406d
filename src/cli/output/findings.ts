import type { ThreadVerdict } from '../../engine/verify-threads.ts';
import type { Palette } from './palette.ts';
import { oneLine } from './width.ts';

/** Writes what is wrong with a thread, a line each: the commit, the file, and what. */
export function formatFindings({ thread, findings }: ThreadVerdict, paint: Palette): string {
  const lines = findings.map(({ commit, path, what }) => {
    const place = path === null ? '' : `${oneLine(path)}: `;
    return `  ${paint.id(commit.slice(0, 12))}  ${place}${oneLine(what)}`;
  });
  return [`thread ${paint.id(thread)} ${paint.error('is not sound')}`, ...lines].join('\n');
}
