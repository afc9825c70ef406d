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
  if (name.replace(ignoredByHfs, '').toLowerCase() === '.git') return true;
  return name.split('\\').some((part) => {
    const stem = part.split(':', 1)[0] ?? '';
    const trimmed = stem.replace(/[. ]+$/, '').toLowerCase();
    return trimmed === '.git' || trimmed === 'git~1';
  });
}
