/** A path of this server, with its query; `/` for an address that leads elsewhere. */
export function localPath(to: string): string {
  const base = 'http://localhost';
  const url = URL.canParse(to, base) ? new URL(to, base) : undefined;
  // A browser takes what begins with two slashes as the name of a host, as what is left of `/.//host`.
  return url?.origin === base && !url.pathname.startsWith('//') ? `${url.pathname}${url.search}` : '/';
}
