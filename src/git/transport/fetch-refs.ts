import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import type { FetchRequest, RemoteRef } from './remote.ts';
import { asFullDisk, readFetchFailure } from './git-output.ts';
import type { GuestFolder } from './guest-folder.ts';
import { matcherOf } from './list-remote-refs.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { littleMemory, localUploadPack, towardsRemote } from './towards-remote.ts';

/** The prefix of fetched refs in the guest folder: `refs/threads/a` becomes `refs/remote/threads/a`. */
const landing = 'refs/remote/';

/**
 * Settings for a fetch that only brings objects, and writes them to the disk instead of holding them in memory. What came is
 * checked afterwards (unsound-objects.ts), because one malformed object would fail them all.
 */
const settings = [
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
];

const options = [
  '--stdin',
  '--quiet',
  '--progress',
  '--force',
  '--no-tags',
  '--no-filter',
  '--no-prune',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--no-write-commit-graph',
  '--no-show-forced-updates',
  '--update-shallow',
  '--refmap=',
];

/** How a fetch is done. */
export type FetchControl = {
  /** Whether git may ask a person at the terminal. */
  mayAsk: boolean;
  /** Whether the remote is a folder of this machine. */
  isLocal: boolean;
  /** Fetch these ids instead of names, which a remote can make up. */
  ids?: readonly ObjectId[];
};

/** The name of a remote ref in the guest folder; `undefined` if it is no ref name. */
export function landingOf(name: string): string | undefined {
  return name.startsWith('refs/') ? `${landing}${name.slice('refs/'.length)}` : undefined;
}

/**
 * Fetches refs of a remote with their objects into a guest folder. Returns all these refs, also those whose names git cannot
 * write there.
 *
 * @throws {GitFailed} if there was no connection, it broke, or the objects could not be stored
 * Source: git-fetch(1); the form of `FETCH_HEAD` is that of `append_fetch_head` in git's builtin/fetch.c.
 */
export async function fetchRefs(
  folder: GuestFolder,
  remote: string,
  request: FetchRequest,
  { mayAsk, isLocal, ids }: FetchControl,
): Promise<RemoteRef[]> {
  const { refs, except = [], signal, onProgress } = request;
  if (refs.length === 0) return [];
  const args = ['fetch', ...options, ...(isLocal ? [`--upload-pack=${localUploadPack}`] : []), '--', remote];
  const named = [...refs.flatMap(refspecOf), ...except.map((name) => `^${name}`)];
  const asked = ids?.map((id) => `+${id}:${landing}ids/${id}`) ?? named;
  const input = asked.map((line) => `${line}\n`).join('');
  try {
    await runGit({ ...folder.run(args), settings, input, ...towardsRemote(mayAsk), signal, onProgress });
  } catch (error) {
    const isOfNames = error instanceof GitFailed && readFetchFailure(error).isOfNames;
    if (!isOfNames || signal?.aborted || fetchHead(folder) === '') throw asFullDisk(error, folder.path);
  }
  const isWanted = matcherOf(refs);
  return parseFetchHead(fetchHead(folder)).filter(({ name }) => isWanted(name));
}

/** A name becomes a pattern, so that a missing ref is no error. */
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
