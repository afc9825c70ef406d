import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { CommitLine } from '../../git/process/revisions.ts';
import type { Repository } from '../../git/repository.ts';
import { hintAtRefusal } from '../../git/transport/git-output.ts';
import type { Remote } from '../../git/transport/remote.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { NOT_BROUGHT } from '../../sync/fetch-threads.ts';
import type {
  FetchReport,
  Held,
  PushReport,
  Refusal,
  SyncReport,
  ThreadChange,
  WorkflowChange,
} from '../../sync/report.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { findThread } from '../../thread/find-thread.ts';
import type { SecretPlace } from '../../thread/secret-scan.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { hintToResume } from '../../thread/thread-state.ts';
import type { Left } from '../errors/exit-code.ts';
import { secretLines } from '../output/findings.ts';
import type { Output } from '../output/output.ts';
import { fitTo, oneLine, type Palette } from '../output/text.ts';

type PushWords = { about: AboutThread; isDry?: boolean; isAsked?: boolean; isDecided?: boolean };

/** As wide as two short ids and the dots between them, as in git's own reports. */
const SUMMARY_WIDTH = 17;

const MAX_COMMIT_LINES = 5;

/**
 * What a push made visible, or would, and where; then a line for each ref, in the form of `git push`.
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

/** What a thread is about: its workflow, and the first words of its prompt. */
type About = { workflow: string; prompt: string };

export type AboutThread = (thread: ThreadId) => About | undefined;

type Reported = Pick<PushReport, 'threads' | 'held'> &
  Partial<Pick<PushReport, 'alongside' | 'unsent'> & Pick<FetchReport, 'gone'>>;

/** So many columns of a prompt are told beside a thread's id. */
const MAX_WORDS_WIDTH = 60;

/** Reads what threads are about, from the subjects of their starts; nothing of those that have no head or cannot be read. */
export async function aboutThreads(
  repository: Repository,
  threads: Iterable<{ thread: ThreadId; head: ObjectId | null | undefined }>,
  redactor?: Redactor,
): Promise<AboutThread> {
  const found = new Map<ThreadId, About>();
  for (const { thread, head } of threads) {
    const start = head ? await findStart(repository, head) : undefined;
    const [subject = ''] = start?.commit.message.split('\n', 1) ?? [];
    const told = redactor?.redactText(subject).text ?? subject;
    const [, workflow, prompt] = /^(\S+): ?(.*)/u.exec(told) ?? [];
    if (workflow !== undefined && prompt !== undefined) found.set(thread, { workflow, prompt });
  }
  return (thread) => found.get(thread);
}

/** `fix  The sum is wrong.`; '' where nothing is known. */
export function formatAbout(about: About | undefined): string {
  if (about === undefined) return '';
  return `${oneLine(about.workflow)}  ${fitTo(oneLine(about.prompt), MAX_WORDS_WIDTH)}`.trimEnd();
}

export async function aboutReport(
  repository: Repository,
  { threads, held, alongside = [], unsent = [], gone = [] }: Reported,
  redactor?: Redactor,
): Promise<AboutThread> {
  const named = [...held.map(({ thread }) => thread), ...alongside, ...gone];
  const heads = named.map(async (thread) => ({ thread, head: (await findThread(repository, thread))?.head }));
  return aboutThreads(repository, [...threads, ...unsent, ...(await Promise.all(heads))], redactor);
}

export function withAbout<Report extends Pick<PushReport, 'threads' | 'unsent'>>(
  report: Report,
  about: AboutThread,
): Report {
  const tell = <T extends { thread: ThreadId }>(change: T): T => ({ ...change, ...about(change.thread) });
  const { threads, unsent } = report;
  return { ...report, threads: threads.map(tell), ...(unsent && { unsent: unsent.map(tell) }) };
}

/** Sorts what a push did not send: refused here, refused by the remote, or undecided. */
export function leftOf({ held, rejected }: PushReport): Required<Left> {
  const left: Record<keyof Left, object[]> = { refused: [], refusedThere: [], undecided: [] };
  for (const each of [...held, ...rejected]) {
    const mustStay = each.isUnsound === true || each.secrets !== undefined || 'commits' in each;
    if (mustStay) left.refused.push(each);
    else if ('isRefusedThere' in each) left.refusedThere.push(each);
    else left.undecided.push(each);
  }
  return left;
}

/** Says what can be done about threads that were held because they must not leave, and about what the remote refused. */
export function hintAtHeldBack(
  { held, rejected }: PushReport,
  { repository, remote, withCommits }: { repository: Repository; remote: Remote; withCommits: boolean },
  out: Output,
): void {
  if (!withCommits && held.some(({ commits }) => commits !== undefined)) {
    const along = '--with-commits, which publishes them and all commits before them';
    out.hint(`push those commits first ('git push'), or give ${along}`);
  }
  const [first] = held.filter(({ secrets }) => secrets !== undefined);
  if (first !== undefined) {
    const code = new Set(first.commits?.map(({ commit }) => commit));
    const isInCode = first.secrets?.some(({ commit }) => code.has(commit)) === true;
    out.hint(
      isInCode
        ? 'the thread stands on a commit of your code that has the secret, and uwf rewrites no code: change the secret, then --allow-secrets sends it'
        : `'uwf thread redact ${first.thread}' takes secrets out of a thread; --allow-secrets sends them as they are`,
    );
  } else if (rejected.some(({ secrets }) => secrets !== undefined)) {
    out.hint('take the secret out of the workflow and register it again under another name, or give --allow-secrets');
  }
  const { location } = repository;
  const isShallow = location !== undefined && existsSync(join(location.commonDir, 'shallow'));
  const refusedThere = rejected.find(({ isRefusedThere }) => isRefusedThere);
  if (refusedThere !== undefined) {
    const unshallow =
      "this clone is shallow, and the remote may lack what was cut off: 'git fetch --unshallow' brings it here";
    const hint = isShallow ? unshallow : hintAtRefusal(remote, refusedThere.reason);
    if (hint !== undefined) out.hint(hint);
  }
  const [stuck] = held.flatMap(({ remedy = [] }) => remedy);
  if (stuck !== undefined) out.hint(stuck);
  if (held.some(({ isUnsound }) => isUnsound)) {
    out.hint("'uwf thread verify <thread>' says all that is wrong; 'uwf thread rm <thread> --force' removes it");
  }
}

/** How many threads are searched for one that is suspended. */
const MAX_THREADS = 20;

/**
 * Prints hints after a fetch: how the remote gets back what it has lost; how to answer a suspended thread, or how to read
 * one. It reads heads only, so its cost does not depend on the length of threads.
 */
export async function hintAfterFetch(out: Output, repository: Repository, report: FetchReport): Promise<void> {
  const lost = report.refused.find(({ reason }) => reason === NOT_BROUGHT);
  if (lost !== undefined) {
    const thread = lost.ref.split('/').at(-1);
    const send = `'git push ${report.remote} :${lost.ref}' and then 'uwf push ${report.remote} ${thread}'`;
    out.hint(`if the remote has lost it, a clone that has all of ${lost.ref} sends it again with ${send}`);
  }
  const present = report.threads.flatMap(({ thread, head }) => (head === null ? [] : [{ thread, head }]));
  const newest = present.toSorted((a, b) => (a.thread < b.thread ? 1 : -1)).slice(0, MAX_THREADS);
  const [first] = newest;
  if (first === undefined) return;
  for (const { thread, head } of newest) {
    const commit = await readThreadCommit(repository, head).catch(() => undefined);
    if (commit?.kind !== 'suspend') continue;
    out.hint(
      `thread ${thread} waits, and 'uwf thread show ${thread}' tells for what; ${hintToResume(thread, commit.node)}`,
    );
    return;
  }
  out.hint(`'uwf log ${first.thread}' shows its log`);
}
