import type { Repository } from '../git/repository.ts';
import { REMOTES_PREFIX } from '../thread/remove-thread.ts';

/**
 * Tells for each thread which remotes had it when they were last seen, by their names in git's configuration. Reads names
 * of refs only.
 */
export async function lastSeenAt({ refs }: Pick<Repository, 'refs'>): Promise<Map<string, string[]>> {
  const seen = new Map<string, string[]>();
  for (const { name } of await refs.list(REMOTES_PREFIX)) {
    const { remote, thread } = tracked.exec(name.slice(REMOTES_PREFIX.length))?.groups ?? {};
    if (remote === undefined || thread === undefined) continue;
    seen.set(thread, [...(seen.get(thread) ?? []), remote]);
  }
  return seen;
}

const tracked = /^(?<remote>.+)\/(?:threads|history\/[^/]+)\/(?<thread>[^/]+)$/;
