const gitlink = /^160000 (?:commit )?([0-9a-f]+)[^\t]*\t(.+)$/s;

/**
 * The submodules among what `git ls-files --stage -z` or `git ls-tree -z` lists, with their commits.
 * @returns `path` in Latin-1: each byte is a character
 */
export function gitlinksIn(listed: Buffer): { path: string; commit: string }[] {
  return listed
    .toString('latin1')
    .split('\0')
    .flatMap((line) => {
      const [, commit, path] = gitlink.exec(line) ?? [];
      return commit !== undefined && path !== undefined ? [{ path, commit }] : [];
    });
}
