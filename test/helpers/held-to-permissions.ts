/**
 * Words before a command line that hold its process to the permissions of files, to which root is not held. Files stay root's own,
 * so git does not take them for another user's.
 */
export const heldToPermissions: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--'] : [];
