/**
 * What `git fetch` of a remote is to bring for uwf: its threads and workflows, into a namespace of uwf's own.
 *
 * They are forced, and may be pruned, since what lies there is what the remote has and nothing else: none of them can
 * overwrite or remove a thread of this repository. There is none for `git push`: one would replace what it pushes.
 */
export function fetchRefspecs(remote: string): string[] {
  return ['threads', 'history', 'workflows']
    .map((kind) => `+refs/${kind}/*:refs/uwf/remotes/${remote}/${kind}/*`)
    .concat(['removed', 'redacted'].map((kind) => `+refs/uwf/${kind}/*:refs/uwf/remotes/${remote}/${kind}/*`));
}
