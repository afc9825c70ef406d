import { isObjectId } from '../format/object-id.ts';
import type { RemoteRef } from './remote.ts';
import type { GitRun } from '../process/run-git.ts';
import { runGit } from '../process/run-git.ts';
import { explainLimit, towardsRemote } from './towards-remote.ts';

/**
 * Lists the refs of a remote that match names or patterns. The server sends all its refs.
 *
 * Lines that are not an id and a name are ignored.
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-ls-remote(1).
 */
export async function listRemoteRefs(
  run: Omit<GitRun, 'args'>,
  remote: string,
  patterns: readonly string[],
): Promise<RemoteRef[]> {
  if (patterns.length === 0) return [];
  const args = ['ls-remote', '--refs', '--quiet', '--', remote, ...patterns];
  const settings = ['protocol.version=2'];
  const listed = await runGit({ ...run, ...towardsRemote(run.mayAsk ?? false), settings, args }).catch(
    (error: unknown) => {
      throw explainLimit(error);
    },
  );
  const lines = listed.toString('utf8').split('\n');
  const isWanted = matcherOf(patterns);
  return lines.flatMap((line) => {
    const [id = '', name = ''] = line.split('\t');
    return isObjectId(id) && isWanted(name) ? [{ name, id }] : [];
  });
}

/** Tells whether a name matches exactly; git itself returns more. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const names = new Set(patterns.filter((pattern) => !pattern.endsWith('*')));
  const prefixes = patterns.filter((pattern) => pattern.endsWith('*')).map((pattern) => pattern.slice(0, -1));
  return (name) => names.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
