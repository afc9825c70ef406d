import { followThread, unfinishedTurn } from '../../engine/journal/read-journal.ts';
import type { JournalEntry } from '../../engine/journal/journal.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readTextAt, readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { EXIT, type ExitCode } from '../errors/exit-code.ts';
import { debugLine, JournalView } from './print-events.ts';
import type { Output } from '../output/output.ts';
import { allHarmless, harmless } from '../output/text.ts';

type World = { cli: CliEnvironment; out: Output };

/** Shows the running turn of a thread in detail, or the last turn if it was cut off. Returns when the turn ends. */
export async function followTurn({ cli, out }: World, repository: Repository, thread: string): Promise<ExitCode> {
  const { id } = await getThread(repository, thread);
  const view = new JournalView(out.paint, true);
  let isShown = false;
  for await (const batch of followThread(repository, id, cli.signal)) {
    const entries = isShown ? batch : unfinishedTurn(batch);
    for (const entry of entries) {
      await show({ cli, out }, view, entry);
      if (isShown && (entry.event === 'step.finished' || entry.event === 'thread.suspended')) return EXIT.done;
      isShown = true;
    }
  }
  cli.stdout.write(view.finish());
  if (!isShown) out.hint(`no turn goes on in thread ${id}; 'uwf step turns --thread ${id}' shows the last one`);
  return exitCodeOfFollowing(cli);
}

/** Shows what happens on a thread after the head `shown`, until no process works on it. */
export async function followStory(
  { cli, out }: World,
  repository: Repository,
  id: ThreadId,
  shown: string,
): Promise<ExitCode> {
  const view = new JournalView(out.paint, false);
  let isFirst = true;
  let hasSpoken = false;
  for await (const batch of followThread(repository, id, cli.signal)) {
    for (const entry of isFirst ? notShown(batch, shown) : batch) {
      if (entry.event === 'step.started') hasSpoken = false;
      if (entry.event === 'agent.text') hasSpoken = true;
      if (!hasSpoken && !out.isJson) cli.stdout.write(await readSpoken(repository, entry));
      await show({ cli, out }, view, entry);
    }
    isFirst = false;
  }
  cli.stdout.write(view.finish());
  return exitCodeOfFollowing(cli);
}

/** The reply of a finished turn whose agent streams nothing; '' if there is none. */
async function readSpoken(repository: Repository, entry: JournalEntry): Promise<string> {
  if (entry.event !== 'step.finished' && entry.event !== 'thread.suspended') return '';
  const commit = await readThreadCommit(repository, entry.head);
  if ((commit.kind !== 'step' && commit.kind !== 'suspend') || commit.node.content === null) return '';
  return `${harmless(await readTextAt(repository, commit, 'output.md')).trim()}\n\n`;
}

export async function followDebug(
  { cli, out }: World,
  repository: Repository,
  id: ThreadId,
  isFollowing: boolean,
): Promise<ExitCode> {
  const signal = isFollowing ? cli.signal : AbortSignal.abort();
  for await (const batch of followThread(repository, id, signal)) {
    for (const entry of batch) {
      if (!entry.event.startsWith('agent.')) await out.line(entry, debugLine(entry, out.paint));
    }
  }
  return isFollowing ? exitCodeOfFollowing(cli) : EXIT.done;
}

/** The exit code of following a thread: if a signal ended that, the thread may go on. */
function exitCodeOfFollowing(cli: CliEnvironment): ExitCode {
  return cli.signal.aborted ? EXIT.interrupted : EXIT.done;
}

async function show({ cli, out }: World, view: JournalView, entry: JournalEntry): Promise<void> {
  if (out.isJson) {
    if (entry.event !== 'debug') await out.line(entry);
    return;
  }
  const text = view.write(entry);
  if (text !== '') cli.stdout.write(allHarmless(text, out.paint));
}

/** The entries after the commit that was shown. If the journal does not have it: the entries of the running turn. */
function notShown(entries: readonly JournalEntry[], head: string): readonly JournalEntry[] {
  const place = entries.findLastIndex((entry) => 'head' in entry && entry.head === head);
  const since = place === -1 ? unfinishedTurn(entries) : entries.slice(place + 1);
  // Turns that were cut off before the running one are left out.
  const start = since.findLastIndex(({ event }) => event === 'step.started');
  const before = since.slice(0, Math.max(start, 0));
  return before.some(({ event }) => event === 'step.finished') ? since : since.slice(Math.max(start, 0));
}
