import { readFileSync } from 'node:fs';

/** A field that `docs/format-rules.md` lists as unchecked, and whether it names a condition. */
type UnboundField = { name: string; hasBounds: boolean };

/** Reads the list of `docs/format-rules.md`. */
export function listUnboundFields(): UnboundField[] {
  const text = readFileSync(new URL('../../docs/format-rules.md', import.meta.url), 'utf8');
  const section = /\n## What nothing checks\n([^]*?)\n## /.exec(text)?.[1] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => {
      const [, names = '', bounds = ''] = line.split('|');
      return [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => ({ name, hasBounds: bounds.trim() !== '' }));
    });
}

/** The names of those fields. */
export function unboundFields(): string[] {
  return listUnboundFields().map(({ name }) => name);
}

/** Tells whether a field is one of those, or a part of one. */
export function isListed(field: string, listed: readonly string[]): boolean {
  return listed.some((name) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`));
}
