/** A path of this server, with its query; `/` for an address that leads elsewhere. */
export function localPath(to: string): string {
  const base = 'http://localhost';
  const url = URL.canParse(to, base) ? new URL(to, base) : undefined;
  // A browser reads a path that begins with two slashes as a host, and `/.//host` becomes such a path.
  return url?.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : '/';
}
