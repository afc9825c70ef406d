import { bringInParts } from '../bring-in-parts.ts';
import type { FetchRequest, RemoteRef } from '../remote.ts';
import { fetchRefs, type FetchControl } from './fetch-refs.ts';
import type { GuestFolder } from './guest-folder.ts';
import { listRemoteRefs } from './list-remote-refs.ts';
import { GitFailed } from './run-git.ts';

/** After so many connections the search for what cannot be taken in ends, and what has not been found innocent stays out. */
const mostTries = 128;

/**
 * What git says when the connection was fine and what came over it was not: too large for the memory it may take, damaged,
 * incomplete, or such that git itself falls over it.
 */
const indigestible =
  /^(?:fatal|error): (?:out of memory|.*did not send all necessary objects|.*(?:unresolved delta|inflate|corrupt|died of signal|bad object|couldn't find remote ref|max(?:imum)? depth|malformed|sha1 collision))/im;

/** What the other side says when it cannot send something of what it has told of. Source: git's upload-pack.c. */
const notSent = /(?:not our ref [0-9a-f]+|aborting due to possible repository corruption on the remote side)/;

/**
 * Fetches as `fetchRefs` does. Where something of what comes cannot be taken in, it is found by halving, so that it keeps
 * nothing out but what leads to it.
 *
 * @returns all refs, those too whose objects have not come
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
    if (!isIndigestible(error)) throw error;
  }
  const { signal } = request;
  const { mayAsk } = control;
  const run = { ...folder.run([]), mayAsk, ...(signal && { signal }) };
  const except = new Set(request.except);
  const told = (await listRemoteRefs(run, remote, request.refs)).filter(({ name }) => !except.has(name));
  await bringInParts([...new Set(told.map(({ id }) => id))], mostTries, async (ids) => {
    try {
      await fetchRefs(folder, remote, request, { ...control, ids });
      return true;
    } catch (error) {
      if (!isIndigestible(error)) throw error;
      return false;
    }
  });
  return told;
}

function isIndigestible(error: unknown): boolean {
  return error instanceof GitFailed && (indigestible.test(error.said) || notSent.test(error.said));
}
