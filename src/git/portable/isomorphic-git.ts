type IsomorphicGit = typeof import('isomorphic-git');

let loading: Promise<IsomorphicGit> | undefined;

/** Loads isomorphic-git when it is first needed: it costs a cold start some 90 ms. */
export function loadIsomorphicGit(): Promise<IsomorphicGit> {
  loading ??= import('isomorphic-git');
  return loading;
}
