import { keyOf, subsectionOf, type GitVariable } from './git-variables.ts';

/** A rule `url.<base>.insteadOf = <start>`: what starts so starts with the base instead. */
type Rewrite = { start: string; base: string };

/**
 * The URL at which git would reach a remote, or a URL or path that is given itself; of several the first.
 *
 * For a push that is `pushurl`, or what `pushInsteadOf` makes of the `url`, or the same as for a fetch.
 * @param address a name in the configuration, a URL or a path
 * Source: git-config(1), `url.<base>.insteadOf`; `alias_all_urls` in git's remote.c. `git remote get-url` says the same.
 */
export function remoteUrl(variables: readonly GitVariable[], address: string, direction: 'fetch' | 'push'): string {
  const configured = (key: string): string[] =>
    variables.flatMap(({ name, value }) => (name === `remote.${address}.${key}` ? (value ?? []) : []));
  const rewrites = rewritesOf(variables, 'insteadof');
  const own = configured('url');
  // As git does, a remote that has no URL is taken for one.
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

/** In the order in which git tries them: all of one base, then of the next. */
function rewritesOf(variables: readonly GitVariable[], key: string): Rewrite[] {
  const byBase = new Map<string, Rewrite[]>();
  for (const { name, value } of variables) {
    const base = name.startsWith('url.') && keyOf(name) === key ? subsectionOf(name) : undefined;
    if (base === undefined || value === undefined) continue;
    byBase.set(base, [...(byBase.get(base) ?? []), { start: value, base }]);
  }
  return [...byBase.values()].flat();
}

/** What the rule with the longest start makes of a URL, the first of several; `undefined` if there is none for it. */
function rewritten(url: string, rewrites: readonly Rewrite[]): string | undefined {
  let longest: Rewrite | undefined;
  for (const rewrite of rewrites) {
    if (url.startsWith(rewrite.start) && rewrite.start.length > (longest?.start.length ?? -1)) longest = rewrite;
  }
  return longest && longest.base + url.slice(longest.start.length);
}
