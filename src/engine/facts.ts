import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { isJsonObject } from '../json.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadStatus } from '../thread/thread-status.ts';
import { tryToWriteLocalFile } from './local-file.ts';
import type { ThreadUsage } from './sum-usage.ts';

/**
 * What lists and `show` say of a thread, computed at one head and true of that head for ever.
 *
 * Kept on this machine to save reading the chain again; the repository is the truth, and losing a file loses nothing.
 */
export type ThreadFacts = {
  head: ObjectId;
  /** As the head alone says; whether somebody runs it is asked every time. */
  status: ThreadStatus;
  workflow: string;
  workflowHash: NodeHash;
  /** The beginning of the user's prompt, one line. */
  prompt: string;
  startedAtMs: number;
  endedAtMs: number | null;
  steps: number;
  nextRole: string | null;
  depth: number;
  parent: ThreadId | null;
  /** The start node, by which child threads name their parent. */
  startHash: NodeHash;
  /** The commit that has it, so that who needs the start alone need not walk there. */
  startCommit: ObjectId;
  /** Child threads whose ends are part of this thread. */
  children: ThreadId[];
  reason: string | null;
  returnCode: number | null;
} & ThreadUsage;

/** Raised when a field is added or changes its meaning, so that older files are not believed. */
const VERSION = 3;

/** The facts of a thread at a head, if this machine has them. */
export function findFacts(repository: Repository, id: ThreadId, head: ObjectId): ThreadFacts | undefined {
  const path = pathOf(repository, id);
  if (path === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    // Only this file's `writeFacts` writes there, under this version.
    return isJsonObject(value) && value['version'] === VERSION && value['head'] === head
      ? (value as unknown as ThreadFacts)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps the facts of a thread for later; that it cannot is nobody's trouble. */
export function writeFacts(repository: Repository, id: ThreadId, facts: ThreadFacts): void {
  const path = pathOf(repository, id);
  if (path === undefined) return;
  // A reader that finds half a file finds no JSON, and works the facts out again.
  tryToWriteLocalFile(path, `${JSON.stringify({ version: VERSION, ...facts })}\n`);
}

function pathOf({ stateDir }: Repository, id: ThreadId): string | undefined {
  // The last two characters are random, so that a folder of 100,000 threads is 1,024 small ones.
  return stateDir === undefined ? undefined : join(stateDir, 'facts', id.slice(-2), `${id}.json`);
}
