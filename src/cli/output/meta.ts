import { oneLine } from './width.ts';

/** Writes a reply's structured part, one member per line: `phases: [{"hash":…}]`. '' if it has none. */
export function formatMeta(meta: object): string {
  return Object.entries(meta)
    .map(([name, value]) => `${oneLine(name)}: ${oneLine(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join('\n');
}
