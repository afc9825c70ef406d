import type { GitVariable } from '../process/git-variables.ts';
import { keyOf, subsectionOf } from '../format/config.ts';

/** A rule `url.<base>.insteadOf = <start>`: git replaces the start of a URL by the base. */
type Rewrite = { start: string; base: string };

/**
 * The URL that git uses for a remote, or for a URL or path; the first of several.
 *
 * For a push it is `pushurl`, or the `url` rewritten by `pushInsteadOf`, or the same as for a fetch.
 * @param address a name in the configuration, a URL or a path
 * Source: git-config(1), `url.<base>.insteadOf`; `alias_all_urls` in git's remote.c. `git remote get-url` says the same.
 */
export function remoteUrl(variables: readonly GitVariable[], address: string, direction: 'fetch' | 'push'): string {
  const configured = (key: string): string[] =>
    variables.flatMap(({ name, value }) => (name === `remote.${address}.${key}` ? (value ?? []) : []));
  const rewrites = rewritesOf(variables, 'insteadof');
  const own = configured('url');
  // Like git, treats the name of a remote without a URL as its URL.
  const urls = own.length > 0 ? own : [address];
  const pushUrls = configured('pushurl');
  if (direction === 'push') {
    const [pushUrl] = pushUrls;
    if (pushUrl !== undefined) return rewritten(pushUrl, rewrites) ?? pushUrl;
    const forPush = rewritesOf(variables, 'pushinsteadof');
    const [first] = urls.flatMap((url) => rewritten(url, forPush) ?? []);
    if (first !== undefined) return first;
  }
  const [url = address] = urls;
  return rewritten(url, rewrites) ?? url;
}

/** In the order of git: all rules of one base, then of the next. */
function rewritesOf(variables: readonly GitVariable[], key: string): Rewrite[] {
  const byBase = new Map<string, Rewrite[]>();
  for (const { name, value } of variables) {
    const base = name.startsWith('url.') && keyOf(name) === key ? subsectionOf(name) : undefined;
    if (base === undefined || value === undefined) continue;
    byBase.set(base, [...(byBase.get(base) ?? []), { start: value, base }]);
  }
  return [...byBase.values()].flat();
}

/** Applies the matching rule with the longest start, the first of several; `undefined` if none matches. */
function rewritten(url: string, rewrites: readonly Rewrite[]): string | undefined {
  let longest: Rewrite | undefined;
  for (const rewrite of rewrites) {
    if (url.startsWith(rewrite.start) && rewrite.start.length > (longest?.start.length ?? -1)) longest = rewrite;
  }
  return longest && longest.base + url.slice(longest.start.length);
}
