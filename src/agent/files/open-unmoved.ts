import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** `make`: the folders on the way are made where they are missing. */
type MakeOptions = { make?: boolean };

/** To hold a folder needs no right to list it (Linux; Node has no name for it). */
const O_PATH = process.platform === 'linux' ? 0o10000000 : 0;
const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** An open folder. The path `at` leads to its entries also after the folder was renamed. */
export type OpenFolder = { handle: FileHandle; at: string };

/**
 * Opens a file by its real path, in the folder that this path named when it was judged, and follows no link.
 *
 * On Linux the folder is held open and the file is reached through it. Elsewhere Node has no way to do that; there a
 * program beside uwf that exchanges folders at the right moment could still win.
 * @param flags beside O_NOFOLLOW and O_NONBLOCK; without O_TRUNC, so that the file can be looked at first
 * @throws {PathFault} if a folder above it has been exchanged
 * @see openat(2), proc(5), `/proc/self/fd`
 */
export async function openUnmoved(real: string, flags: number, options: MakeOptions): Promise<FileHandle> {
  const folder = await openFolder(dirname(real), options);
  try {
    // Not to wait for the writer of a pipe.
    return await open(join(folder.at, basename(real)), flags | O_NOFOLLOW | O_NONBLOCK, 0o666);
  } finally {
    await folder.handle.close();
  }
}

/**
 * Opens a folder by its real path.
 * @throws {PathFault} if it is elsewhere by now
 */
export async function openFolder(real: string, { make = false }: MakeOptions = {}): Promise<OpenFolder> {
  const handle = await open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW).catch(async (error: NodeJS.ErrnoException) => {
    if (make && error.code === 'ENOENT') return undefined;
    const stats = await lstat(real).catch(() => undefined);
    throw stats?.isSymbolicLink() ? pathMoved(real) : error;
  });
  if (handle === undefined) {
    await makeFolder(real);
    return openFolder(real);
  }
  const held = `/proc/self/fd/${handle.fd}`;
  const told = await readlink(held).catch(() => undefined);
  if ((told ?? (await realpath(real).catch(() => undefined))) === real) return { handle, at: told ? held : real };
  await handle.close();
  throw pathMoved(real);
}

function pathMoved(path: string): PathFault {
  return new PathFault('moved', path, 'leads elsewhere than a moment ago');
}

async function makeFolder(real: string): Promise<void> {
  const parent = await openFolder(dirname(real), { make: true });
  try {
    await mkdir(join(parent.at, basename(real))).catch((error: NodeJS.ErrnoException) => {
      // Another call may have made it; what it is, opening it tells.
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await parent.handle.close();
  }
}

/** A path that an agent cannot use through uwf. The message names it. */
export class PathFault extends Error {
  /** `moved`: it leads elsewhere than when it was judged, as a link or another folder has replaced a part of it. */
  readonly kind: 'refused' | 'moved';
  /** What is wrong, as the end of a sentence about the path. */
  readonly reason: string;

  constructor(kind: PathFault['kind'], path: string, reason: string) {
    super(`'${path}' ${reason}`);
    this.kind = kind;
    this.reason = reason;
  }
}
