import type * as IsomorphicGit from 'isomorphic-git';

let loading: Promise<typeof IsomorphicGit> | undefined;

/** Loads isomorphic-git when it is first needed: it costs a cold start some 90 ms. */
export function loadIsomorphicGit(): Promise<typeof IsomorphicGit> {
  loading ??= import('isomorphic-git');
  return loading;
}
