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

/** The short names that NTFS gives files whose long name it has to shorten, without the number. */
const shortNames = {
  gitmodules: { first: 'gitmod', hashed: 'gi7eba' },
  gitattributes: { first: 'gitatt', hashed: 'gi7d29' },
};

/**
 * Tells whether some file system would take a name for `.gitmodules` or `.gitattributes`, which git reads.
 *
 * Source: `is_hfs_dotgitmodules` (utf8.c), `is_ntfs_dot_generic` (path.c), as `fsck_tree` (fsck.c) applies them.
 */
export function isDotGitFile(name: string, file: keyof typeof shortNames): boolean {
  if (isOnHfs(name, `.${file}`)) return true;
  const { first, hashed } = shortNames[file];
  return ntfsNames(name).some((part) => {
    const [start = '', number = ''] = part.split('~', 2);
    if (part === `.${file}` || (start === first && /^[1-4]$/.test(number))) return true;
    return part.length === 8 && /^[1-9]\d*$/.test(number) && hashed.startsWith(start);
  });
}
