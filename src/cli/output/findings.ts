import type { Fault } from '../../verify/fault.ts';
import type { Palette } from './palette.ts';
import { oneLine } from './width.ts';

/** Writes what is wrong with something, a line each: the commit, the file, and what. */
export function formatFindings(
  subject: string,
  findings: readonly (Omit<Fault, 'commit'> & { commit: string | null })[],
  paint: Palette,
): string {
  const lines = findings.map(({ commit, path, what }) => {
    const place = path === null ? '' : `${oneLine(path)}: `;
    const at = commit === null ? '' : `${paint.id(commit.slice(0, 12))}  `;
    return `  ${at}${place}${oneLine(what)}`;
  });
  return [`${oneLine(subject)} ${paint.error('is not sound')}`, ...lines].join('\n');
}
