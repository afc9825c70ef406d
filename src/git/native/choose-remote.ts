import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { kindOfPath, readIfThere } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';
import type { GitVariable } from './git-variables.ts';

/**
 * The remote that git would take where none is named: that of the branch that is checked out (for a push first
 * `branch.<name>.pushRemote` and `remote.pushDefault`), else the only one there is, else `origin`.
 *
 * Source: `remotes_remote_for_branch` and `remotes_pushremote_for_branch` in git's remote.c.
 */
export function defaultRemote(
  variables: readonly GitVariable[],
  configured: readonly string[],
  { gitDir }: RepositoryLocation,
  direction: 'fetch' | 'push',
): string {
  const last = (name: string): string | undefined => variables.findLast((variable) => variable.name === name)?.value;
  const branch = /^ref:\s*refs\/heads\/(.+)$/.exec(readIfThere(resolve(gitDir, 'HEAD'))?.trim() ?? '')?.[1];
  const forPush = last(`branch.${branch}.pushremote`) ?? last('remote.pushdefault');
  const only = configured.length === 1 ? configured[0] : undefined;
  return (direction === 'push' ? forPush : undefined) ?? last(`branch.${branch}.remote`) ?? only ?? 'origin';
}

/**
 * What git is to be told for something that is no name in its configuration; `undefined` if it cannot be a place.
 *
 * A relative path is looked for from `cwd`, then from where git itself would start: the top of the work tree.
 * Source: git-fetch(1), "GIT URLS".
 */
export function addressOf(text: string, location: RepositoryLocation, cwd: string | undefined): string | undefined {
  if (text === '' || text.startsWith('-')) return undefined;
  // `<transport>::<address>` is for git to allow or refuse (`protocol.<name>.allow`), as is every scheme.
  if (/^[A-Za-z0-9][A-Za-z0-9+.-]*(?::\/\/|::)/.test(text)) return text;
  const here = resolve(cwd ?? startOf(location), text);
  if (existsSync(here) || existsSync(`${here}.git`)) return here;
  if (existsSync(resolve(startOf(location), text))) return text;
  // `host:path`, as scp writes it; a slash before the colon makes it a path.
  if (/^[^/]+:/.test(text)) return text;
  return text.endsWith('.bundle') ? here : undefined;
}

/** The file that a URL or path names if that is a bundle, or is to become one; absolute. */
export function bundlePathOf(url: string, location: RepositoryLocation): string | undefined {
  if (/^(?!file:\/\/)[A-Za-z0-9+.-]*::?/.test(url)) return undefined;
  const path = resolve(startOf(location), url.startsWith('file://') ? fileURLToPath(url) : url);
  const kind = kindOfPath(path);
  if (kind === undefined) return path.endsWith('.bundle') ? path : undefined;
  return kind === 'file' && isBundle(path) ? path : undefined;
}

/** The folder that a URL or path names, absolute; `undefined` where that takes more than reading it. */
export function folderPathOf(url: string, location: RepositoryLocation): string | undefined {
  const path = url.startsWith('file:///') && !url.includes('%') ? url.slice('file://'.length) : url;
  // Nothing, `host:path`, `scheme://`, `helper::`; and what git expands.
  if (path === '' || /^[^/]*:|^~/.test(path)) return undefined;
  // Behind a symbolic link `..` is not where it looks. Where git starts, there is none.
  if (/(?:^|\/)\.\.(?:\/|$)/.test(path.replace(/^(?:\.\.?\/+)*(?:\.\.?$)?/, ''))) return undefined;
  return resolve(startOf(location), path);
}

/** A URL as it may be shown: its password left out, and a name that stands where a token would. */
export function withoutPassword(url: string): string {
  return url.replace(/^([A-Za-z0-9+.-]+:\/\/)([^/?#]*)@/, (_, scheme: string, userinfo: string) => {
    const [user = '', password] = userinfo.split(':', 2);
    const isHttp = /^https?:/i.test(scheme);
    // A single word before the host is how access tokens are given over http; over ssh it is the user.
    return user === '' || (isHttp && password === undefined) ? scheme : `${scheme}${user}@`;
  });
}

function startOf({ workTree, gitDir }: RepositoryLocation): string {
  return workTree ?? gitDir;
}

function isBundle(path: string): boolean {
  const descriptor = openSync(path, 'r');
  try {
    const start = Buffer.alloc(16);
    readSync(descriptor, start, 0, start.length, 0);
    return /^# v\d git bundle\n/.test(start.toString('latin1'));
  } finally {
    closeSync(descriptor);
  }
}
