import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import type { FetchReport, PushReport } from '../../sync/report.ts';
import { findThread } from '../../thread/find-thread.ts';
import { findStart } from '../../thread/thread-chain.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { fitTo, oneLine } from '../output/width.ts';

/** What a thread is about: its workflow, and the first words of its prompt. */
export type About = { workflow: string; prompt: string };

/** Finds what threads are about. */
export type AboutThread = (thread: ThreadId) => About | undefined;

/** What a push or a fetch reports of threads. */
type Reported = Pick<PushReport, 'threads' | 'held'> &
  Partial<Pick<PushReport, 'alongside' | 'unsent'> & Pick<FetchReport, 'gone'>>;

/** So many columns of a prompt are told beside a thread's id. */
const MAX_WORDS_WIDTH = 60;

/**
 * Reads what threads are about, from the subjects of their starts; nothing of those that cannot be read.
 * @param threads the threads with their heads; without one nothing of the thread is known
 * @param redactor takes secrets out of the words; default: they are told as they are stored
 */
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

/** Reads what the threads of a report are about. */
export async function aboutReport(
  repository: Repository,
  { threads, held, alongside = [], unsent = [], gone = [] }: Reported,
  redactor?: Redactor,
): Promise<AboutThread> {
  const named = [...held.map(({ thread }) => thread), ...alongside, ...gone];
  const heads = named.map(async (thread) => ({ thread, head: (await findThread(repository, thread))?.head }));
  return aboutThreads(repository, [...threads, ...unsent, ...(await Promise.all(heads))], redactor);
}

/** The report with what its threads are about, for JSON. */
export function withAbout<Report extends Pick<PushReport, 'threads' | 'unsent'>>(
  report: Report,
  about: AboutThread,
): Report {
  const tell = <T extends { thread: ThreadId }>(change: T): T => ({ ...change, ...about(change.thread) });
  const { threads, unsent } = report;
  return { ...report, threads: threads.map(tell), ...(unsent && { unsent: unsent.map(tell) }) };
}
