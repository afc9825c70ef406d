import { readFileSync, statSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { resolveRevision } from '../../git/native/resolve-revision.ts';
import { hashObject } from '../../git/object-id.ts';
import { readCommit } from '../../git/read.ts';
import type { Repository } from '../../git/repository.ts';
import type { Artifact } from '../../schema/built-in.ts';
import type { CliContext } from '../context.ts';
import { UsageError } from '../usage-error.ts';

/**
 * Finds what is to be pinned: a file, whatever is in it, or what a revision names (`main`, `HEAD:src`).
 *
 * @returns the artifact, and the bytes of a file, which the repository may not have
 * @throws {UsageError} if there is neither
 */
export async function readArtifact(
  cli: CliContext,
  repository: Repository,
  text: string,
  title: string | undefined,
): Promise<{ artifact: Artifact; blob?: Uint8Array }> {
  const file = resolve(cli.cwd, text);
  const { location } = repository;
  if (statSync(file, { throwIfNoEntry: false })?.isFile()) {
    const blob = readFileSync(file);
    const oid = hashObject({ type: 'blob', data: blob }, repository.objects.format);
    const path = location?.workTree === undefined ? undefined : relative(location.workTree, file);
    const isInside = path !== undefined && path !== '' && !path.startsWith('..');
    return { artifact: { kind: 'blob', oid, ...(isInside && { path }), title: title ?? text }, blob };
  }
  const found = location && (await resolveRevision(location, cli.env, text));
  if (!found) {
    throw new UsageError(
      `'${text}' is neither a file nor a revision of git`,
      'a folder can be pinned as it was committed: HEAD:<folder>',
    );
  }
  const path = /^[^:]+:(.+)$/.exec(text)?.[1];
  const subject = found.kind === 'commit' ? await subjectOf(repository, found.oid) : text;
  return { artifact: { ...found, ...(path !== undefined && { path }), title: title ?? subject } };
}

async function subjectOf({ objects }: Repository, oid: Artifact['oid']): Promise<string> {
  const { message } = await readCommit(objects, oid);
  return message.split('\n', 1)[0] ?? '';
}
