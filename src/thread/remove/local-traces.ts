import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../../git/system/names-in.ts';
import type { Repository } from '../../git/repository.ts';
import { forgetInTable, listTableRows } from '../../thread/read/head-table.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';

/** A file or folder of this machine's data about a thread, beside its refs. */
type LocalTrace = { thread: ThreadId; path: string };

/** The folders of sessions, journals, running steps, open turns, verdicts and background logs. All names begin with the id of a thread. */
const folders = ['sessions', 'journal', 'steps', 'turns', 'corrupt', 'log'];
const idLength = 26;

/** Removes this machine's data about a removed thread: its row in the list, journal, sessions, folders of steps, a turn. */
export function forgetThread({ stateDir }: Repository, thread: ThreadId): void {
  if (stateDir === undefined) return;
  const places = [...folders, 'kept', 'held'].map((folder) => join(stateDir, folder));
  for (const trace of places.flatMap(tracesIn)) {
    if (trace.thread === thread) rmSync(trace.path, { recursive: true, force: true });
  }
  forgetInTable(stateDir, thread);
}

/**
 * Lists this machine's data about all threads, also about those that do not exist any more. Kept turns are left out: they can
 * still be read if the ref of their thread was lost.
 */
export function listLocalTraces(stateDir: string): LocalTrace[] {
  return [...folders.map((folder) => join(stateDir, folder)).flatMap(tracesIn), ...listTableRows(stateDir)];
}

function tracesIn(folder: string): LocalTrace[] {
  return namesIn(folder).flatMap((name) => {
    const thread = name.slice(0, idLength);
    return isThreadId(thread) ? [{ thread, path: join(folder, name) }] : [];
  });
}
