/**
 * Tells whether a text is a range of versions as npm reads them: `1.2.3`, `^1.2.0`, `~1.2`, `1.x`, `>=1.2 <3 || 4.0.1`,
 * `*`. A tag such as `latest` is none.
 * @see https://github.com/npm/node-semver#ranges
 */
export async function isVersionRange(text: string): Promise<boolean> {
  const { default: validRange } = await import('semver/ranges/valid.js');
  return validRange(text) !== null;
}

/**
 * Tells whether a version lies in a range; false also where either is none.
 *
 * As for npm, a pre-release lies only in a range that names a pre-release of the same version.
 * @see https://semver.org, https://github.com/npm/node-semver#prerelease-tags
 */
export async function satisfiesRange(version: string, range: string): Promise<boolean> {
  const { default: satisfies } = await import('semver/functions/satisfies.js');
  return satisfies(version, range);
}
