import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { openSegmentFile, writeSegmentFile } from '../../cas/lookup/disk-segments.ts';
import type { Segment } from '../../cas/lookup/segment.ts';
import type { SortedRecords } from '../../cas/lookup/sorted-records.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { makeDerivedFolder, replaceFile } from '../../git/system/derived-file.ts';
import { orElse } from '../../or-else.ts';
import { derivedPath } from '../../thread/read/derived-path.ts';
import type { ThreadId } from '../../thread/thread-id.ts';

/**
 * Finds the nodes that this machine keeps of a thread: those of all its commits up to one, which is the only commit that the segment
 * covers. They are true of that commit for ever, whatever became of the thread. A damaged file, or one of another object
 * format, is none.
 */
export function findKeptNodes(repository: Repository, thread: ThreadId): Segment | undefined {
  const path = derivedPath(repository, thread, 'nodes');
  const kept = path === undefined ? undefined : orElse(() => openSegmentFile(path), undefined);
  return kept?.format === repository.objects.format ? kept : undefined;
}

/** Keeps the nodes of a thread up to a commit. @returns them; `undefined` if the disk refuses, or one that was kept is damaged */
export function keepNodes(
  repository: Repository,
  thread: ThreadId,
  commit: ObjectId,
  nodes: SortedRecords,
): Segment | undefined {
  const path = derivedPath(repository, thread, 'nodes');
  if (path === undefined) return undefined;
  const { format } = repository.objects;
  const commits: SortedRecords = () => [Buffer.from(commit, 'hex')];
  return orElse(() => {
    makeDerivedFolder(dirname(path));
    // One name for all writers, so that the file of a killed one is replaced. If two meet, a reader refuses what they leave.
    const temporary = `${path}.tmp`;
    rmSync(temporary, { recursive: true, force: true });
    writeSegmentFile(temporary, { format, nodes, commits }, () => replaceFile(temporary, path));
    return findKeptNodes(repository, thread);
  }, undefined);
}
