import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectId } from '../format/object-id.ts';
import { isRefName } from '../format/refs.ts';
import type { RemoteRef } from './remote.ts';
import { runGit } from '../process/run-git.ts';
import type { GuestFolder } from './guest-folder.ts';
import { matcherOf } from './list-remote-refs.ts';
import { explainLimit, localUploadPack, MAX_TRACE_BYTES, towardsRemote } from './towards-remote.ts';

const settings = ['protocol.version=2', 'gc.auto=0', 'maintenance.auto=false'];
const options = [
  '--stdin',
  '--quiet',
  '--no-tags',
  '--no-prune',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--no-write-fetch-head',
  '--refmap=',
];

/** How a list is asked for. */
export type ListControl = {
  /** Whether git may ask a person at the terminal. */
  mayAsk: boolean;
  /** Whether the remote is a folder of this machine. */
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
 * @throws {GitFailed} {GitNotFound} as `runGit`
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
    ...folder.run(['fetch', ...options, ...other, '--', remote]),
    ...towardsRemote(mayAsk),
    settings,
    input: [...patterns.map(refspecOf), '^refs/*'].map((line) => `${line}\n`).join(''),
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
function refspecOf(pattern: string): string {
  return `+${pattern.replace(/\*?$/, '*')}/-:refs/none/*/-`;
}

/**
 * Reads the list of refs from the trace of a fetch; `undefined` if it has no complete one.
 *
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
