import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectId, type ObjectId } from '../object-id.ts';
import type { FetchRequest, RemoteRef } from '../remote.ts';
import type { GuestFolder } from './guest-folder.ts';
import { matcherOf } from './list-remote-refs.ts';
import { GitFailed, runGit } from './run-git.ts';
import { littleMemory, towardsRemote } from './towards-remote.ts';

/** Where the guest folder keeps refs that a fetch brings: `refs/threads/a` as `refs/remote/threads/a`. */
const landing = 'refs/remote/';

/**
 * What keeps a fetch from doing more than bringing objects, and from holding in memory what can go to the disk.
 *
 * Objects are not checked as they come: one that is not in order would make all of them fail.
 */
const bringOnly = [
  'protocol.version=2',
  'fetch.fsckObjects=false',
  'transfer.fsckObjects=false',
  'transfer.bundleURI=false',
  'fetch.unpackLimit=1',
  'transfer.unpackLimit=1',
  ...littleMemory,
  'pack.writeReverseIndex=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.fetchShowForcedUpdates=false',
].flatMap((setting) => ['-c', setting]);

const options = [
  '--stdin',
  '--quiet',
  '--force',
  '--no-tags',
  '--no-prune',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--no-write-commit-graph',
  '--no-show-forced-updates',
  '--update-shallow',
  '--refmap=',
];

/** The other side of a folder on this machine is a child of this side, and may take no more than this side. */
const localUploadPack = [
  'git',
  ...[...littleMemory, 'pack.deltaCacheSize=16m', 'pack.windowMemory=32m'].map((setting) => `-c ${setting}`),
  'upload-pack',
].join(' ');

/** How a fetch is done. */
export type FetchControl = {
  /** Whether git may ask a person at the terminal. */
  mayAsk: boolean;
  /** Whether the remote is a folder of this machine. */
  isLocal: boolean;
  /** Asks for these, which refs of the remote lead to, instead of asking for names: those are the remote's to make up. */
  ids?: readonly ObjectId[];
};

/** The name under which the guest folder is to have a ref of the remote; `undefined` for one that is no ref's. */
export function landingOf(name: string): string | undefined {
  return name.startsWith('refs/') ? `${landing}${name.slice('refs/'.length)}` : undefined;
}

/**
 * Has git bring what a remote's refs lead to into a guest folder, and gives all of these refs, those too that could not
 * be written there because of their names.
 *
 * @throws {GitFailed} if the connection did not come about or broke, or what came could not be stored
 * Source: git-fetch(1); the form of `FETCH_HEAD` is that of `append_fetch_head` in git's builtin/fetch.c.
 */
export async function fetchRefs(
  folder: GuestFolder,
  remote: string,
  request: FetchRequest,
  { mayAsk, isLocal, ids }: FetchControl,
): Promise<RemoteRef[]> {
  const { refs, except = [], withoutContents, maxObjectBytes, signal, onProgress } = request;
  if (refs.length === 0) return [];
  const filter = withoutContents === true ? 'blob:none' : maxObjectBytes && `blob:limit=${maxObjectBytes}`;
  const args = [
    ...bringOnly,
    'fetch',
    ...options,
    '--progress',
    ...(filter ? [`--filter=${filter}`] : []),
    ...(isLocal ? [`--upload-pack=${localUploadPack}`] : []),
    '--',
    remote,
  ];
  const named = [...refs.flatMap(refspecOf), ...except.map((name) => `^${name}`)];
  const asked = ids?.map((id) => `+${id}:${landing}ids/${id}`) ?? named;
  const input = asked.map((line) => `${line}\n`).join('');
  try {
    const control = {
      ...towardsRemote(mayAsk),
      ...(signal && { signal }),
      ...(onProgress && { onProgress }),
    };
    await runGit({ ...folder.run(args), input, ...control });
  } catch (error) {
    // Then everything has come, and only a ref could not be written: two that cannot both be, or a name too long for a file.
    const isAboutNames = error instanceof GitFailed && !/^fatal:|did not send all/m.test(error.said);
    if (!isAboutNames || signal?.aborted || fetchHead(folder) === '') throw error;
  }
  const isWanted = matcherOf(refs);
  return parseFetchHead(fetchHead(folder)).filter(({ name }) => isWanted(name));
}

/** A name is asked for as a pattern: one that the remote does not have is no failure then. */
function refspecOf(pattern: string): string[] {
  const name = pattern.endsWith('*') ? pattern : `${pattern}*`;
  const local = landingOf(name);
  return local === undefined ? [] : [`+${name}:${local}`];
}

function fetchHead(folder: GuestFolder): string {
  const path = join(folder.path, 'FETCH_HEAD');
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

const kinds: Readonly<Record<string, string>> = {
  '': '',
  'branch ': 'refs/heads/',
  'tag ': 'refs/tags/',
  'remote-tracking branch ': 'refs/remotes/',
};

function parseFetchHead(text: string): RemoteRef[] {
  return text.split('\n').flatMap((line) => {
    // A ref's name has no spaces, so the quote before the first one ends it.
    const match = /^([0-9a-f]+)\t(?:not-for-merge)?\t(branch |tag |remote-tracking branch |)'([^ ]+)' of /.exec(line);
    const [, id = '', kind = '', rest = ''] = match ?? [];
    return isObjectId(id) ? [{ name: `${kinds[kind] ?? ''}${rest}`, id }] : [];
  });
}
