import type { FetchRequest, RemoteRef } from './remote.ts';
import { fetchRefs, type FetchControl } from './fetch-refs.ts';
import type { GuestFolder } from './guest-folder.ts';
import { readFetchFailure } from './git-output.ts';
import { listRemoteRefs } from './list-remote-refs.ts';
import { GitFailed } from '../process/run-git.ts';

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
