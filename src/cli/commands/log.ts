import { describeThread, type ThreadView } from '../../engine/describe/describe.ts';
import { statusHere } from '../../engine/leases/find-lease.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread, listPointers } from '../../thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { isOver } from '../../thread/thread-state.ts';
import { type Command, defineCommand, optionalThreadArgument, parseCount } from '../command-line/command.ts';
import { formatLong, formatShort, type LogEntry, logFields } from '../log/log-entry.ts';
import type { OpenChildren } from '../log/read-log.ts';
import { openForReading } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import { paintStatus } from '../output/text.ts';

type Style = { isShort: boolean; isGraph: boolean; most: number };

export const logCommand: Command = defineCommand({
  description: `Shows the commits of a thread, newest first, in the form of 'git log': the prompt, the steps, suspensions,
answers and the end. The default is the thread that was started last.

What it shows is git's own history: 'git log --first-parent refs/threads/<thread>' (refs/history/<date>/<thread> for one
that is over) shows the same commits without uwf.`,
  arguments: [optionalThreadArgument],
  options: {
    limit: { short: 'n', value: '<n>', summary: 'at most so many entries', parse: parseCount },
    oneline: { summary: 'one line for each entry' },
    graph: { summary: 'draw child threads beside the line of their caller' },
    all: { short: 'a', summary: 'every thread, the newest first' },
  },
  json: logFields,
  examples: [
    { command: 'uwf log', comment: 'what the last thread did' },
    { command: 'uwf log 01KAM4 --oneline -n 10', comment: 'its last ten steps in short' },
    { command: 'uwf log 01KAM4 --graph', comment: 'with its sub-workflows' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const newest = options.all ? Infinity : 1;
    const pointers =
      args.thread === undefined
        ? (await listPointers(repository)).toReversed().slice(0, newest)
        : [await getThread(repository, args.thread)];
    // One thread that is damaged hides no other; that not all is shown is a failure.
    const damage: unknown[] = [];
    const read = async <T>(story: Promise<T>): Promise<T | undefined> =>
      options.all ? story.catch((error: unknown) => void damage.push(error)) : story;
    const style = { isShort: options.oneline, isGraph: options.graph, most: options.limit ?? Infinity };
    if (out.isJson) {
      const entries: object[] = [];
      for (const pointer of pointers) {
        const story = (await read(entriesOf(repository, pointer, style.most))) ?? [];
        entries.push(...story.map((entry) => ({ thread: pointer.id, ...entry })));
      }
      await out.result(entries, () => '');
      if (damage.length > 0) throw damage[0];
      return;
    }
    const stories: string[] = [];
    for (const pointer of pointers) {
      const story = await read(tell(repository, pointer, out, style));
      if (story !== undefined) stories.push(story);
    }
    await out.result([], () => stories.join(style.isShort || style.isGraph ? '\n' : '\n\n'));
    if (pointers.length === 0) out.hint("there are no threads yet; 'uwf run <workflow> -p <prompt>' starts one");
    if (damage.length > 0) throw damage[0];
  },
});

async function tell(repository: Repository, pointer: ThreadPointer, out: Output, style: Style): Promise<string> {
  const { paint } = out;
  if (!style.isShort && !style.isGraph) {
    // Of the thread itself only its head and status, so that nothing is read but the entries.
    const entries = await entriesOf(repository, pointer, style.most);
    const status = entries[0] && statusAt(repository, pointer.id, entries[0]);
    const position = status === undefined ? '' : ` (head of ${paint.id(pointer.id)}: ${paintStatus(paint, status)})`;
    return entries.map((entry, at) => formatLong(entry, paint, at === 0 ? position : '')).join('\n\n');
  }
  const view = await describeThread({ repository }, pointer.id);
  const title = `thread ${paint.id(view.thread)} (${paintStatus(paint, view.status)}, workflow ${paint.name(view.workflow)})`;
  if (!style.isGraph) {
    const entries = await entriesOf(repository, pointer, style.most);
    return [title, ...entries.map((entry) => formatShort(entry, paint))].join('\n');
  }
  const { drawGraph } = await import('../log/read-log.ts');
  const lines: string[] = [title];
  let count = 0;
  const open = await findOpenChildren(repository, view);
  for await (const { line, entry } of drawGraph(repository, pointer.head, paint, open)) {
    if (entry !== undefined && (count += 1) > style.most) break;
    lines.push(line);
  }
  return lines.join('\n');
}

/** The status of a thread whose newest entry this is. */
function statusAt(repository: Repository, thread: ThreadId, { kind, status }: LogEntry): string {
  if (kind === 'end') return status === 'completed' ? 'ended' : (status ?? '');
  return statusHere(repository, thread, kind === 'suspend' ? 'suspended' : 'idle');
}

/** The threads that this one called, and those that they called, which no step has taken in and which are not over. */
async function findOpenChildren(
  repository: Repository,
  view: ThreadView,
  open: Map<ObjectId, { heads: ObjectId[]; left: number }> = new Map(),
): Promise<OpenChildren> {
  if (isOver(view.status)) return open;
  const { callerOf, MAX_DRAWN } = await import('../log/read-log.ts');
  const calls = view.calls.filter(({ status }) => !isOver(status));
  for (const { thread } of calls.slice(0, MAX_DRAWN)) {
    const child = await describeThread({ repository }, thread);
    const from = await callerOf(repository, child.head);
    if (from === undefined) continue;
    const { heads } = open.get(from) ?? { heads: [] };
    open.set(from, { heads: [...heads, child.head], left: Math.max(calls.length - MAX_DRAWN, 0) });
    await findOpenChildren(repository, child, open);
  }
  return open;
}

/** The newest entries of a thread. Other commands do not load what reads them. */
async function entriesOf(repository: Repository, { head }: ThreadPointer, most: number): Promise<LogEntry[]> {
  const { readEntries } = await import('../log/read-log.ts');
  return readEntries(repository, head, most);
}
