import type { ListOptions } from '../../engine/describe/list-threads.ts';
import { listRemoteThreads, type RemoteThread } from '../../sync/shared-refs.ts';
import { endedBetween } from '../../thread/thread-id.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { openForReading } from '../open/open-repository.ts';
import { openRemoteHere } from '../open/open-remote.ts';
import type { Output } from '../output/output.ts';
import { shortIds } from '../output/table.ts';
import { formatAgo } from '../../text/wording.ts';
import { UsageError } from '../errors/exit-code.ts';

/** The options of `uwf thread list`, as far as the names of a remote's refs can answer them. */
type OptionsAtRemote = Pick<ListOptions, 'sinceMs' | 'untilMs' | 'endedSinceMs' | 'endedBeforeMs' | 'limit'> & {
  /** True for the one that git would fetch from. */
  remote?: string | true | undefined;
  all: boolean;
  ended: boolean;
  /** Only those behind this one, or behind where it would stand; its first characters will do. */
  cursor: string | undefined;
};

/** The options that only the threads themselves can answer. */
const needingObjects = ['status', 'workflow', 'role', 'text', 'before', 'follow'] as const;
type NeedingObjects = Partial<Record<(typeof needingObjects)[number], unknown>>;

const presence: Record<RemoteThread['here'], string> = { same: 'yes', other: 'at another commit', none: '' };

/** Lists the threads that a remote has, newest first, by the names of its refs. */
export async function listAtRemote(
  cli: CliEnvironment,
  out: Output,
  options: OptionsAtRemote & NeedingObjects,
): Promise<void> {
  const other = needingObjects.find((name) => isGiven(options[name]));
  if (other !== undefined) {
    const hint = "a remote tells names and commits of threads; 'uwf fetch' brings what it takes to know more";
    throw new UsageError(`--${other} and --remote cannot be given together`, hint);
  }
  const { remote: given, all, ended, limit, cursor } = options;
  const { sinceMs = 0, untilMs = Number.POSITIVE_INFINITY, endedSinceMs, endedBeforeMs } = options;
  const repository = await openForReading(cli);
  const name = given === true ? undefined : given;
  const remote = await openRemoteHere(cli, repository, { name, direction: 'fetch' });
  const isByEnd = endedSinceMs !== undefined || endedBeforeMs !== undefined;
  const isWantedDay = endedBetween(endedSinceMs, endedBeforeMs);
  const everything = await listRemoteThreads(repository, remote, { active: true, ended: true }, cli.signal);
  const found = everything.filter(({ endedOn }) =>
    endedOn === null ? !ended && !isByEnd : (all || ended || isByEnd) && isWantedDay(endedOn),
  );
  const short = shortIds(everything.map(({ thread }) => thread));
  const wanted = found.filter(({ thread, startedAt }) => {
    const timeMs = Date.parse(startedAt);
    return timeMs >= sinceMs && timeMs <= untilMs && (cursor === undefined || thread < cursor.toUpperCase());
  });
  const threads = wanted.slice(0, limit);
  const nowMs = cli.now();
  const started = ({ startedAt }: RemoteThread): string => formatAgo(Date.parse(startedAt), nowMs);
  await out.table<RemoteThread>(threads, [
    { title: 'THREAD', cell: ({ thread }) => thread, short: ({ thread }) => short(thread), paint: out.paint.id },
    { title: 'STATUS', cell: ({ endedOn }) => (endedOn === null ? 'active' : `ended ${endedOn}`) },
    { title: 'HEAD', cell: ({ head }) => head.slice(0, 7), paint: out.paint.quiet, extra: 1 },
    { title: 'STARTED', cell: started, paint: out.paint.quiet, extra: 2 },
    { title: 'HERE', cell: ({ here }) => presence[here] },
  ]);
  if (threads.length === 0) out.hint(found.length === 0 ? 'it has no such thread' : 'none of its threads is like that');
  else if (threads.some(({ here }) => here !== 'same')) out.hint("'uwf fetch' brings them");
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
}
