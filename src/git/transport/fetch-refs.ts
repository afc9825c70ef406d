import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { asFullDisk, readFetchFailure } from './git-output.ts';
import type { GuestFolder } from './guest-folder.ts';
import { matcherOf, listRemoteRefs } from './list-remote-refs.ts';
import type { FetchRequest, RemoteRef } from './remote.ts';
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

/** After so many connections the search ends, and the refs that are not fetched yet stay out. */
const MAX_TRIES = 128;

/**
 * Fetches as `fetchRefs` does. If some content cannot be fetched, finds it by halving, so that only the refs that lead to it
 * stay out.
 *
 * @returns all refs, also those whose objects were not fetched
 * @throws {GitFailed} as `fetchRefs`
 */
export async function fetchWhatCanBe(
  folder: GuestFolder,
  remote: string,
  request: FetchRequest,
  control: FetchControl,
): Promise<RemoteRef[]> {
  try {
    return await fetchRefs(folder, remote, request, control);
  } catch (error) {
    if (!isOfContent(error)) throw error;
  }
  const { signal } = request;
  const { mayAsk } = control;
  const run = { ...folder.run([]), mayAsk, signal };
  const except = new Set(request.except);
  const told = (await listRemoteRefs(run, remote, request.refs)).filter(({ name }) => !except.has(name));
  await bringInParts([...new Set(told.map(({ id }) => id))], MAX_TRIES, async (ids) => {
    try {
      await fetchRefs(folder, remote, request, { ...control, ids });
      return true;
    } catch (error) {
      if (!isOfContent(error)) throw error;
      return false;
    }
  });
  return told;
}

function isOfContent(error: unknown): boolean {
  return error instanceof GitFailed && readFetchFailure(error).isOfContent;
}

/**
 * Processes parts of a list that fails as a whole: a part that fails is halved. The largest part comes first, so that most
 * items are done early.
 *
 * @param bring returns whether a part is done; an exception ends the search
 * @param mostTries the limit of calls; the parts that are left then are not done
 */
export async function bringInParts<Item>(
  items: readonly Item[],
  mostTries: number,
  bring: (part: readonly Item[]) => Promise<boolean>,
): Promise<void> {
  const waiting: (readonly Item[])[] = halves(items);
  for (let tries = 0; tries < mostTries; tries += 1) {
    const part = waiting.shift();
    if (part === undefined) return;
    if (await bring(part)) continue;
    // Halves are never larger than the waiting parts, so the largest stays first.
    if (part.length > 1) waiting.push(...halves(part));
  }
}

function halves<Item>(items: readonly Item[]): (readonly Item[])[] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)].filter((half) => half.length > 0);
}
