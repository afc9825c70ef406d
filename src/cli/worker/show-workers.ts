import { formatAgo } from '../../format-time.ts';
import { readStatuses, type WorkerStatus } from '../../worker/status.ts';
import { openForReading } from '../open/open-repository.ts';
import type { Output } from '../output/output.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { oneLine } from '../output/width.ts';

/** Prints the workers of this repository that run on this machine. */
export async function showWorkers(cli: CliEnvironment, out: Output): Promise<void> {
  const workers = readStatuses(await openForReading(cli));
  const ago = (at: string | null): string => (at === null ? 'never' : formatAgo(Date.parse(at), cli.now()));
  const atWork = ({ atWork: all }: WorkerStatus): string =>
    all.map(({ thread, role }) => oneLine(`${thread} ${role ?? ''}`).trim()).join(', ');
  await out.table(workers, [
    { title: 'WORKER', cell: ({ worker }) => oneLine(worker), paint: out.paint.name },
    { title: 'PID', cell: ({ pid }) => String(pid), align: 'right' },
    { title: 'REMOTE', cell: ({ remote }) => oneLine(remote) },
    { title: 'LOOKED', cell: ({ lastLook }) => ago(lastLook), paint: out.paint.quiet },
    { title: 'STEPS', cell: ({ steps }) => String(steps), align: 'right' },
    { title: 'FAILED', cell: ({ failed }) => String(failed), align: 'right', extra: 1 },
    { title: 'STARTED', cell: ({ since }) => ago(since), paint: out.paint.quiet, extra: 2 },
    { title: 'AT WORK', cell: atWork, least: 8 },
  ]);
  if (workers.length === 0) out.hint("no worker of this repository runs here; 'uwf worker' starts one");
}
