/**
 * Tells whether a path matches a pattern: `*` and `?` within one name, `**` across folders, anything else is itself.
 *
 * `src/**` matches `src` and all below; names that begin with a dot are names like any other.
 * @param path with `/` between its names
 */
export function matchesGlob(path: string, pattern: string): boolean {
  return new RegExp(`^${toRegExp(pattern)}$`, 'su').test(path);
}

function toRegExp(pattern: string): string {
  return pattern
    .split(/(\/\*\*(?=\/|$)|^\*\*\/|\*+|\?)/u)
    .map((part) => {
      if (part === '/**') return '(?:/.*)?';
      if (part === '**/') return '(?:.*/)?';
      if (part === '*') return '[^/]*';
      if (part === '?') return '[^/]';
      return part.startsWith('**') ? '.*' : part.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, '\\$&');
    })
    .join('');
}
