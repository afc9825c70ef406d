import type { FetchRequest, RemoteRef } from '../remote.ts';
import { fetchRefs, type FetchControl } from './fetch-refs.ts';
import type { GuestFolder } from './guest-folder.ts';
import { listRemoteRefs } from './list-remote-refs.ts';
import { GitFailed } from './run-git.ts';

/** After so many connections the search for what cannot be taken in ends, and what has not been found innocent stays out. */
const mostTries = 64;

/**
 * What git says when the connection was fine and what came over it was not: too large for the memory it may take, damaged,
 * incomplete, or such that git itself falls over it. Lines of the other side start with `remote:`.
 */
const indigestible =
  /^(?:fatal|error): (?:out of memory|.*did not send all necessary objects|.*(?:unresolved delta|inflate|corrupt|died of signal|bad object|couldn't find remote ref|max(?:imum)? depth|malformed|sha1 collision))/im;

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
  const except = new Set(request.except);
  const { signal } = request;
  const { mayAsk } = control;
  const run = { ...folder.run([]), mayAsk, ...(signal && { signal }) };
  const told = (await listRemoteRefs(run, remote, request.refs)).filter(({ name }) => !except.has(name));
  let triesLeft = mostTries;
  const bring = async (refs: readonly RemoteRef[]): Promise<void> => {
    if (refs.length === 0 || triesLeft === 0) return;
    triesLeft -= 1;
    try {
      const { except: _, ...rest } = request;
      const names = refs.map(({ name }) => name);
      await fetchRefs(folder, remote, { ...rest, refs: names }, { ...control, areNames: true });
    } catch (error) {
      if (!isIndigestible(error)) throw error;
      if (refs.length > 1) await inHalves(refs);
    }
  };
  const inHalves = async (refs: readonly RemoteRef[]): Promise<void> => {
    const middle = Math.ceil(refs.length / 2);
    await bring(refs.slice(0, middle));
    await bring(refs.slice(middle));
  };
  await (told.length > 1 ? inHalves(told) : Promise.resolve());
  return told;
}

function isIndigestible(error: unknown): boolean {
  return error instanceof GitFailed && indigestible.test(error.said);
}
