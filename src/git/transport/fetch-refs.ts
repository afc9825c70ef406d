import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { storing } from '../format/errors.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { printable } from '../format/paths.ts';
import { isRefName } from '../format/refs.ts';
import type { ObjectStore, WrittenObjects } from '../repository.ts';
import { durablePacks, GitFailed, runGit } from '../process/run-git.ts';
import { Quarantine, removeKeeps } from '../stores/quarantine.ts';
import {
  asFullDisk,
  explainLimit,
  listRemoteRefs,
  littleMemory,
  localUploadPack,
  matcherOf,
  MAX_TRACE_BYTES,
  readFetchFailure,
  towardsRemote,
} from './git-output.ts';
import type { GuestFolder } from './guest-folder.ts';
import type { FetchRequest, IncomingObjects, RemoteRef } from './remote.ts';

/** The prefix of fetched refs in the guest folder: `refs/threads/a` becomes `refs/remote/threads/a`. */
const landing = 'refs/remote/';

/**
 * Settings for a fetch that only brings objects, and writes them to the disk instead of holding them in memory. What came is
 * checked afterwards, because one malformed object would fail them all.
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

type FetchControl = {
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
 * @returns all refs, also those whose objects were not fetched
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

const settingsOfLists = ['protocol.version=2', 'gc.auto=0', 'maintenance.auto=false'];
const optionsOfLists = [
  '--stdin',
  '--quiet',
  '--no-tags',
  '--no-prune',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--no-write-fetch-head',
  '--refmap=',
];

type ListControl = {
  mayAsk: boolean;
  isLocal: boolean;
  signal?: AbortSignal | undefined;
};

/**
 * Lists the refs of a remote that match names or patterns, and has the server send no others.
 *
 * `git ls-remote` asks for all refs and filters them here. `git fetch` sends the prefixes of its refspecs to the server; those here
 * match no ref, so that it asks for no object. It prints no list, so the list is read from git's trace of the protocol.
 * @param folder a guest folder, in which the trace is written
 * @returns `undefined` if this does not work or saves nothing: an older server, another protocol, an unusual pattern, all refs
 * Source: gitprotocol-v2(5), `ls-refs`; git(1), `GIT_TRACE_PACKET`; docs/decisions/0019-listing-by-prefix.md.
 */
export async function listByPrefix(
  folder: GuestFolder,
  remote: string,
  patterns: readonly string[],
  { mayAsk, isLocal, signal }: ListControl,
): Promise<RemoteRef[] | undefined> {
  if (patterns.includes('refs/*') || !patterns.every(isRefspec)) return undefined;
  const trace = join(folder.path, 'trace');
  // The other side is git too on this machine, and would write the same list.
  const other = isLocal ? [`--upload-pack=GIT_TRACE_PACKET= ${localUploadPack}`] : [];
  const run = {
    ...folder.run(['fetch', ...optionsOfLists, ...other, '--', remote]),
    ...towardsRemote(mayAsk),
    settings: settingsOfLists,
    input: [...patterns.map(refspecInGuest), '^refs/*'].map((line) => `${line}\n`).join(''),
    variables: { GIT_TRACE_PACKET: trace, GIT_TRACE_BARE: '1' },
    maxFileBytes: MAX_TRACE_BYTES,
    signal,
  };
  await runGit(run).catch((error: unknown) => {
    throw explainLimit(error, sizeOf(trace) >= MAX_TRACE_BYTES);
  });
  if (sizeOf(trace) === 0) return undefined;
  const isWanted = matcherOf(patterns);
  return readTrace(readFileSync(trace, 'latin1'))?.filter(({ name }) => isWanted(name));
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function isRefspec(pattern: string): boolean {
  return isRefName(pattern.replace(/\*$/, 'x'));
}

/** A refspec with this prefix that no ref matches; if a server has such a ref, `^refs/*` excludes it. */
function refspecInGuest(pattern: string): string {
  return `+${pattern.replace(/\*?$/, '*')}/-:refs/none/*/-`;
}

/**
 * Reads the list of refs from the trace of a fetch; `undefined` if it has no complete one.
 * Source: `packet_trace` in git's pkt-line.c, which leaves out line ends within a packet.
 */
function readTrace(trace: string): RemoteRef[] | undefined {
  const start = trace.indexOf('fetch> command=ls-refs\n');
  const end = start === -1 ? -1 : trace.indexOf('fetch< 0000\n', start);
  if (end === -1) return undefined;
  const refs: RemoteRef[] = [];
  for (const [, id = '', name = ''] of trace.slice(start, end).matchAll(/packet: +fetch< ([0-9a-f]+) ([^ \n]+)/g)) {
    if (isObjectId(id)) refs.push({ name: decodeTraced(name), id });
  }
  return refs;
}

/**
 * Decodes bytes outside ASCII, which git writes in octal: as `\303`, or with the sign of a `char`, as `\37777777703`. A name has no
 * backslash, and UTF-8 has no byte `\377` that could begin both forms.
 */
function decodeTraced(text: string): string {
  if (!text.includes('\\')) return text;
  const bytes = text.replaceAll(/\\(?:37777777)?([2-7][0-7]{2})/g, (_, octal: string) =>
    String.fromCodePoint(Number.parseInt(octal, 8) & 0xff),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** The repository that incoming objects can become part of. */
type Destination = {
  objectFolder: string;
  /** A folder for temporary files, on the same file system. */
  parent: string;
  /** The targets of the repository's refs: their objects are not needed again. */
  has: readonly ObjectId[];
  isPartial: boolean;
};

/** Reads fetched objects and those of the repository. */
type IncomingReader = Pick<ObjectStore, 'read' | 'has' | 'close'>;

/** git packs objects without a search for deltas, and holds no large blob in memory. */
const settingsOfTakingIn = [...durablePacks, 'core.bigFileThreshold=4m', 'pack.writeReverseIndex=false'];
const packObjects = [
  'pack-objects',
  '--quiet',
  '--revs',
  '--delta-base-offset',
  '--window=0',
  '--threads=1',
  '--missing=allow-promisor',
];

/** Objects that git fetched into a guest folder. */
export function incomingObjects(
  { refs, objects }: { refs: readonly RemoteRef[]; objects: IncomingReader },
  folder: GuestFolder,
  { objectFolder, parent, has, isPartial }: Destination,
): IncomingObjects {
  const accept = async (tips: readonly ObjectId[]): Promise<WrittenObjects> => {
    if (tips.length === 0) return { release: async () => {} };
    // git packs exactly the objects that the tips lead to; other objects of the remote stay outside.
    const accepted = new Quarantine(parent, objectFolder);
    try {
      const input = [...tips, ...has.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
      await runGit({ ...folder.run([...packObjects, accepted.packPrefix]), settings: settingsOfTakingIn, input });
      const keeps = accepted.takeOver();
      return { release: async () => removeKeeps(keeps) };
    } catch (error) {
      throw asFullDisk(error, parent);
    } finally {
      accepted.remove();
    }
  };
  return {
    refs,
    objects,
    mayLackFiles: isPartial,
    accept,
    async discard() {
      await objects.close();
      folder.remove();
    },
  };
}

// git checks what it fetches (`fetch.fsckObjects`), but refuses everything at the first object that it would not take, and does
// not check a bundle or a server of plain files. `git fsck` afterwards names every such object in one go.

const settingsOfChecks = [
  ...littleMemory,
  // Only a warning by default, because of commits of long ago. Those that are here already are not checked.
  'fsck.badFilemode=error',
  // A file that is here already is not among what came.
  'fsck.gitmodulesMissing=ignore',
  'fsck.gitattributesMissing=ignore',
];
const { maxDataBytes, maxOutputBytes } = towardsRemote(false);
const limits = { maxDataBytes, maxOutputBytes };
const args = ['fsck', '--strict', '--no-dangling', '--no-progress'];

/** Words about an object can quote it. */
const MAX_WORDS = 200;

/** All results of `git fsck` but that it could not work. Source: builtin/fsck.c. */
const codes = Array.from({ length: 64 }, (_, code) => code);

/**
 * Finds the objects in a guest folder that git would not take, by `git fsck --strict`: a folder `.git` in a tree, a commit
 * without a date, a `.gitmodules` that starts a program.
 * @returns what git says about each
 * @throws {GitFailed} {GitNotFound} as `runGit`, also if there is more to check than fits into the memory that git may take
 */
export async function findUnsound(folder: GuestFolder): Promise<ReadonlyMap<ObjectId, string>> {
  const objects = join(folder.path, 'objects');
  // Without the folder `info`, whose alternates would let git check all of the repository.
  const parts = readdirSync(objects).filter((name) => name !== 'info');
  const unsound = new Map<ObjectId, string>();
  if (parts.length === 1 && readdirSync(join(objects, 'pack')).length === 0) return unsound;
  const gitDir = join(folder.path, 'checked');
  storing(gitDir, () => {
    for (const name of ['refs', 'objects']) mkdirSync(join(gitDir, name), { recursive: true });
    for (const name of parts) symlinkSync(join(objects, name), join(gitDir, 'objects', name));
    writeFileSync(join(gitDir, 'HEAD'), 'ref: refs/heads/none\n');
    symlinkSync(join(folder.path, 'config'), join(gitDir, 'config'));
  });
  const location = { gitDir, commonDir: gitDir, workTree: undefined };
  const onProgress = (line: string): void => {
    const [, id = '', words = ''] = /^error in \w+ ([0-9a-f]+): (.*)$/.exec(line) ?? [];
    if (isObjectId(id) && !unsound.has(id)) unsound.set(id, printable(words.slice(0, MAX_WORDS)));
  };
  await runGit({ location, env: folder.env, args, settings: settingsOfChecks, codes, onProgress, ...limits });
  return unsound;
}

/** The words of git come first: what quotes them is cut. */
function unsoundObject(id: ObjectId, words: string): UwfError {
  const message = `git would not take it: ${words} (object ${id})`;
  return new UwfError(message, { code: 'corrupt-object', kind: 'data', facts: { id, reason: words } });
}

/** Refuses to read objects that git would not take. What the repository has already is history, and is read. */
export function withoutUnsound<Reader extends Pick<ObjectStore, 'read'>>(
  reader: Reader,
  unsound: ReadonlyMap<ObjectId, string>,
  here: Pick<ObjectStore, 'has'>,
): Reader {
  if (unsound.size === 0) return reader;
  return {
    ...reader,
    async read(id, options) {
      const words = unsound.get(id);
      if (words !== undefined && !(await here.has(id))) throw unsoundObject(id, words);
      return reader.read(id, options);
    },
  };
}
