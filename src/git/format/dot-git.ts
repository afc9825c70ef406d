/** Code points that HFS+ leaves out when it compares names. Source: `next_hfs_char` in git's utf8.c. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Tells whether some file system would take a name for `.git`, so that checking it out could overwrite a repository.
 *
 * Any case; HFS+ with its ignored code points; NTFS with its short name `git~1`, trailing dots and spaces, alternate
 * streams after `:` and backslashes as separators.
 * Source: `is_hfs_dotgit` (utf8.c), `is_ntfs_dotgit` (path.c), as `fsck_tree` (fsck.c) applies them.
 */
export function isDotGit(name: string): boolean {
  return isOnHfs(name, '.git') || ntfsNames(name).some((part) => part === '.git' || part === 'git~1');
}

function isOnHfs(name: string, wanted: string): boolean {
  return name.replace(ignoredByHfs, '').toLowerCase() === wanted;
}

/** The parts of a path on NTFS, as it compares them. */
function ntfsNames(name: string): string[] {
  const stems = name.split('\\').map((part) => part.split(':', 1)[0] ?? '');
  return stems.map((stem) => stem.replace(/[. ]+$/, '').toLowerCase());
}
