import { readFileSync } from 'node:fs';

/** The fields that `docs/format.md` lists as bound by nothing. */
export function unboundFields(): string[] {
  const text = readFileSync(new URL('../../../docs/format.md', import.meta.url), 'utf8');
  const section = /\n## What nothing binds\n([^]*?)\n## /.exec(text)?.[1] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...(line.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? ''));
}

/** Tells whether a field is one of those, or a part of one. */
export function isListed(field: string, listed: readonly string[]): boolean {
  return listed.some((name) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`));
}
