import { isObjectId } from '../object-id.ts';
import { isRefName } from '../ref-name.ts';
import type { Ref, RefName } from '../ref-store.ts';
import { brokenPackedRefs } from './ref-refusal.ts';
import { GitFailed, runGit } from './run-git.ts';
import type { GitStart } from './spawn-git.ts';

/** Refs as git lists them, sorted by the bytes of their names, and the names of those it calls broken. */
export type ListedRefs = { refs: Ref[]; broken: ReadonlySet<string> };

const brokenRef = /^warning: ignoring (?:broken ref|ref with broken name) (.+)$/;

/**
 * Lists refs by their names or by prefixes that end in `/`; one run of git. Nothing but names and values is read.
 *
 * A name also lists what lies below it.
 * @throws {BrokenPackedRefs}
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-for-each-ref(1).
 */
export async function listRefs(start: Omit<GitStart, 'args'>, patterns: readonly string[]): Promise<ListedRefs> {
  const broken = new Set<string>();
  const run = runGit({
    ...start,
    args: ['for-each-ref', '--format=%(objectname) %(refname)', ...patterns],
    onProgress: (line) => {
      const [, name] = brokenRef.exec(line) ?? [];
      if (name !== undefined) broken.add(name);
    },
  });
  const printed = await run.catch((error: unknown) => {
    throw (error instanceof GitFailed && brokenPackedRefs(error.said)) || error;
  });
  const refs: Ref[] = [];
  for (const line of printed.toString('utf8').split('\n')) {
    const space = line.indexOf(' ');
    const [id, name] = [line.slice(0, space), line.slice(space + 1)];
    if (isObjectId(id) && isRefName(name)) refs.push({ name, id });
  }
  return { refs, broken };
}

/** The name that a symbolic ref holds; `undefined` for one that is none, or is not there. Source: git-symbolic-ref(1). */
export async function readSymbolicRef(start: Omit<GitStart, 'args'>, name: RefName): Promise<RefName | undefined> {
  try {
    const printed = await runGit({ ...start, args: ['symbolic-ref', '--quiet', '--no-recurse', name] });
    const target = printed.toString('utf8').trim();
    return isRefName(target) ? target : undefined;
  } catch (error) {
    if (error instanceof GitFailed) return undefined;
    throw error;
  }
}
