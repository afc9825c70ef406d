import type {
  FetchReport,
  Held,
  PushReport,
  Refusal,
  SyncReport,
  ThreadChange,
  WorkflowChange,
} from '../../sync/report.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { CommitLine } from '../../git/process/revisions.ts';
import type { Palette } from '../output/palette.ts';
import type { SecretPlace } from '../../thread/secret-scan.ts';
import { formatAbout, type AboutThread } from './about-threads.ts';
import { secretLines } from '../output/secret-places.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { oneLine } from '../output/width.ts';

/** What a report of a push is printed with. */
type PushWords = { about: AboutThread; isDry?: boolean; isAsked?: boolean; isDecided?: boolean };

/** As wide as two short ids and the dots between them, as in git's own reports. */
const SUMMARY_WIDTH = 17;

const MAX_COMMIT_LINES = 5;

/**
 * What a push made visible, or would, and where; then a line for each ref, in the form of `git push`.
 *
 * @param options `isAsked` says that the remote was asked what it has; `isDecided` that a person chose what stays here
 */
export function formatPush(
  report: PushReport,
  paint: Palette,
  { about, isDry = false, isAsked = false, isDecided = false }: PushWords,
): string {
  const sum = sumUp(report);
  const lines = [
    ...changeLines(report, paint, about),
    ...report.alongside.map((thread) =>
      line(paint.quiet(' + '), '[goes along]', nameOf(thread, paint, about), 'its commits are seen there too'),
    ),
    ...codeLines(report.commits, ' + ', '[goes along]', paint),
    ...placeLines(report.secrets, ' + ', '[secret sent]', paint),
    ...report.rejected.flatMap((refusal) => [
      refusalLine('[rejected]', refusal, paint),
      ...placeLines(refusal.secrets ?? [], ' ! ', '[secret]', paint),
    ]),
    ...report.held.flatMap((held) => [
      heldLine(held, paint, about),
      ...codeLines(held.commits ?? [], ' ! ', '[not there]', paint),
      ...placeLines(held.secrets ?? [], ' ! ', '[secret]', paint),
    ]),
    ...(isDecided ? [] : (report.unsent ?? [])).map(({ thread, below }) => {
      const along = below.length === 0 ? '' : `and ${plural(below.length, 'thread')} below it`;
      return line(paint.warning(' ? '), '[not sent]', nameOf(thread, paint, about), along);
    }),
  ];
  const url = oneLine(report.url);
  if (sum !== '') {
    const visible = `anyone who can read that repository ${isDry ? 'could read them then' : 'can read them'}`;
    return [`${isDry ? 'would push' : 'pushed'} to ${url}: ${sum}`, ...lines, visible].join('\n');
  }
  if (lines.length === 0 && (report.unsent ?? []).length === 0)
    return `nothing to push to ${url}: ${isAsked ? 'its refs are up to date' : 'it had everything when it was last seen'}`;
  return [`nothing ${isDry ? 'would be' : 'was'} pushed to ${url}`, ...lines].join('\n');
}

/** What a fetch brought; then a line for each thread, in the form of `git fetch`. */
export function formatFetch(report: FetchReport, paint: Palette, about: AboutThread): string {
  const sum = sumUp(report);
  const url = oneLine(report.url);
  return [
    sum === '' ? `nothing new at ${url}` : `fetched from ${url}: ${sum}`,
    ...changeLines(report, paint, about),
    ...report.refused.map((refusal) => refusalLine('[refused]', refusal, paint)),
    ...report.held.map((held) => heldLine(held, paint, about)),
    ...(report.gone ?? []).map((thread) =>
      line(
        paint.warning(' ? '),
        '[gone there]',
        nameOf(thread, paint, about),
        'without an end or a mark of its removal; kept here',
      ),
    ),
  ].join('\n');
}

/** Both, or one line where both sides were the same already. */
export function formatSync({ fetched, pushed }: SyncReport, paint: Palette, words: PushWords): string {
  const parts = [
    ...(isEmpty(fetched) ? [] : [formatFetch(fetched, paint, words.about)]),
    ...(isEmpty(pushed) ? [] : [formatPush(pushed, paint, words)]),
  ];
  return parts.length === 0 ? `nothing to fetch from ${oneLine(fetched.url)}, and nothing to push` : parts.join('\n');
}

/** Whether nothing changed, and nothing is left to be told of. */
export function isEmpty(report: FetchReport | PushReport): boolean {
  return Object.values(report).every((value) => typeof value !== 'object' || value.length === 0);
}

type Changes = {
  threads: readonly ThreadChange[];
  workflows: readonly WorkflowChange[];
  archived?: readonly ThreadId[];
};

/** `3 threads (2 new, 1 ended), 1 workflow`; '' where nothing changed. */
function sumUp({ threads, workflows, archived = [] }: Changes): string {
  const counts = new Map<string, number>();
  for (const { change } of threads) counts.set(change, (counts.get(change) ?? 0) + 1);
  const kinds = [...counts].map(([change, count]) => `${formatCount(count)} ${change}`).join(', ');
  const parts = [
    ...(threads.length === 0 ? [] : [`${plural(threads.length, 'thread')} (${kinds})`]),
    ...(workflows.length === 0 ? [] : [plural(workflows.length, 'workflow')]),
    ...(archived.length === 0 ? [] : [`${plural(archived.length, 'thread')} archived`]),
  ];
  return parts.join(', ');
}

function changeLines({ threads, workflows }: Changes, paint: Palette, about: AboutThread): string[] {
  return [
    // Oldest first, as they started.
    ...threads.toSorted((a, b) => (a.thread < b.thread ? -1 : 1)).map((change) => threadLine(change, paint, about)),
    ...workflows.map(({ workflow, change, before, head }) =>
      before === null
        ? line(paint.good(' * '), `[new workflow]`, paint.name(oneLine(workflow)))
        : line(
            '   ',
            `${short(before)}..${short(head)}`,
            paint.name(oneLine(workflow)),
            change === 'joined' ? 'joined with what was there' : '',
          ),
    ),
  ];
}

function threadLine(
  { thread, change, head, before, commits, of }: ThreadChange,
  paint: Palette,
  about: AboutThread,
): string {
  const id = nameOf(thread, paint, about);
  if (change === 'removed' || head === null) return line(paint.warning(' - '), '[removed]', id);
  if (change === 'forked')
    return line(paint.good(' * '), '[new fork]', id, of === undefined ? '' : `keeps what ${of} could not take in`);
  const remark = [
    ...(commits === undefined || before === null ? [] : [plural(commits, 'commit')]),
    ...(change === 'ended' ? ['ended'] : []),
  ].join(', ');
  if (before === null) return line(paint.good(' * '), '[new thread]', id, remark);
  return line('   ', `${short(before)}..${short(head)}`, id, remark);
}

function refusalLine(what: string, { ref, reason, more }: Refusal, paint: Palette): string {
  const others = more === undefined || more === 0 ? '' : `, and ${formatCount(more)} more like it`;
  return line(paint.error(' ! '), what, oneLine(ref), `${oneLine(reason)}${others}`);
}

function heldLine({ thread, reason }: Held, paint: Palette, about: AboutThread): string {
  return line(paint.warning(' ? '), '[held]', nameOf(thread, paint, about), oneLine(reason));
}

/** The newest commits of some of the user's code, and how many more there are. */
function codeLines(commits: readonly CommitLine[], mark: string, summary: string, paint: Palette): string[] {
  const lines = commits
    .slice(0, MAX_COMMIT_LINES)
    .map(({ commit, subject }) => line(paint.warning(mark), summary, paint.id(short(commit)), oneLine(subject)));
  const more = commits.length - lines.length;
  return more > 0 ? [...lines, line(paint.warning(mark), summary, `${plural(more, 'commit')} more`)] : lines;
}

/** The id of a thread, and what it is about. */
function nameOf(thread: ThreadId, paint: Palette, about: AboutThread): string {
  return `${paint.id(thread)}  ${formatAbout(about(thread))}`.trimEnd();
}

function placeLines(places: readonly SecretPlace[], mark: string, summary: string, paint: Palette): string[] {
  return secretLines(places).map((place) => line(paint.warning(mark), summary, place));
}

function line(mark: string, summary: string, name: string, remark = ''): string {
  return `${mark}${summary.padEnd(SUMMARY_WIDTH)}  ${name}${remark === '' ? '' : `  (${remark})`}`;
}

function short(id: string): string {
  return id.slice(0, 7);
}
