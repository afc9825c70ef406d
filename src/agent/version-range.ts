type Version = [major: number, minor: number, patch: number];

/**
 * Tells whether a version lies in a range: `1.2.3`, `^1.2.3`, `~1.2.3`, `>=1.2.3` or `*`, as npm reads them.
 *
 * Returns `undefined` where the range is none of these. A pre-release satisfies only a range that names it exactly.
 * @see https://semver.org, node-semver's ranges
 */
export function satisfiesRange(version: string, range: string): boolean | undefined {
  const wanted = range.trim();
  if (wanted === '*' || wanted === version) return true;
  const [, operator = '', base = ''] = /^(\^|~|>=)?\s*(\d+\.\d+\.\d+)$/u.exec(wanted) ?? [];
  const least = parseVersion(base);
  if (least === undefined) return undefined;
  const actual = parseVersion(version);
  if (actual === undefined || compare(actual, least) < 0) return false;
  const [major, minor, patch] = least;
  switch (operator) {
    case '>=':
      return true;
    case '~':
      return compare(actual, [major, minor + 1, 0]) < 0;
    case '^':
      if (major > 0) return compare(actual, [major + 1, 0, 0]) < 0;
      return compare(actual, minor > 0 ? [0, minor + 1, 0] : [0, 0, patch + 1]) < 0;
    default:
      return compare(actual, least) === 0;
  }
}

function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)(?:\+.*)?$/u.exec(text) ?? [];
  return patch === undefined ? undefined : [Number(major), Number(minor), Number(patch)];
}

function compare(left: Version, right: Version): number {
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}
