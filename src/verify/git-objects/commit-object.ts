/**
 * Returns the fault that `git fsck --strict` would find in a commit, or `undefined`.
 *
 * @param data the commit as it is stored
 * @param idLength hexadecimal digits of an object id of the repository
 * Source: `fsck_commit`, `fsck_ident` and `verify_headers` in git's fsck.c.
 */
export function faultOfCommit(data: Uint8Array, idLength: number): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const blank = bytes.indexOf('\n\n');
  if (blank === -1) return 'its header does not end';
  if (bytes.includes(0)) return 'it holds a NUL';
  const lines = bytes.toString('latin1', 0, blank).split('\n');
  const id = new RegExp(`^[0-9a-f]{${idLength}}$`);
  if (!isId(lines.shift(), 'tree ', id)) return 'it does not begin with the id of a tree';
  while (lines[0]?.startsWith('parent ')) if (!isId(lines.shift(), 'parent ', id)) return 'the id of a parent is none';
  for (const who of ['author', 'committer']) {
    const line = lines.shift();
    if (line === undefined || !line.startsWith(`${who} `)) return `its ${who} is not where it has to be`;
    const reason = faultOfIdentity(line.slice(who.length + 1));
    if (reason !== undefined) return `its ${who} ${reason}`;
    if (lines[0]?.startsWith('author ')) return 'it has two authors';
  }
  return undefined;
}

function isId(line: string | undefined, keyword: string, id: RegExp): boolean {
  return line !== undefined && line.startsWith(keyword) && id.test(line.slice(keyword.length));
}

function faultOfIdentity(text: string): string | undefined {
  const match = /^([^<>]*)<([^<>]*)>(.*)$/s.exec(text);
  if (match === null) return 'has no e-mail address in angle brackets';
  const [, name = '', , date = ''] = match;
  if (name !== '' && !name.endsWith(' ')) return 'has no space before the e-mail address';
  if (name === '') return 'has no name before the e-mail address';
  const parts = /^ (\d+) ([+-]\d{4})$/.exec(date);
  if (parts === null) return 'has no date as git writes it';
  const [, seconds = ''] = parts;
  if (seconds.length > 1 && seconds.startsWith('0')) return 'has a date that begins with a zero';
  return Number(seconds) > Number.MAX_SAFE_INTEGER ? 'has a date that git cannot hold' : undefined;
}
