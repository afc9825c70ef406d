import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepareHashing } from '../../cas/hash.ts';
import { listThreads } from '../../engine/describe/list-threads.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { findThread, getThread } from '../../thread/find-thread.ts';
import type { ThreadPointer } from '../../thread/thread-id.ts';
import { threadStatuses } from '../../thread/thread-state.ts';
import { exportWeb, SecretsInExport } from '../../web/export/export-web.tsx';
import { scanningRedactor } from '../open/open-config.ts';
import { openForReading } from '../open/open-repository.ts';
import { readingContext } from '../../engine/engine-context.ts';
import type { Output } from '../output/output.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { secretLines } from '../output/findings.ts';
import { oneLine } from '../output/text.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import type { Repository } from '../../git/repository.ts';

type PagesOptions = { folder: string; threads: readonly string[]; most: number; allowSecrets: boolean };

/** Secrets are listed up to so many places on pages. */
const MAX_PLACES = 20;

/** Writes the pages of the named threads into a folder, or those of the newest ones. */
export async function exportPages(cli: CliEnvironment, out: Output, options: PagesOptions): Promise<void> {
  const { threads: named, most, allowSecrets } = options;
  const folder = resolve(cli.cwd, options.folder);
  const repository = await openForReading(cli);
  await prepareHashing();
  const threads =
    named.length > 0
      ? await Promise.all(named.map((id) => getThread(repository, id)))
      : await newestThreads(repository, most, out);
  const redactor = allowSecrets ? undefined : await scanningRedactor(cli, repository);
  const progress = cli.stderr.isTTY === true ? new ProgressLine(cli.stderr) : undefined;
  const onProgress = (): void => progress?.count((count) => `${formatCount(count)} commits and pages`);
  try {
    const done = await exportWeb({ repository, threads, folder, redactor, onProgress, signal: cli.signal });
    progress?.clear();
    cli.stdout.write(`${pathToFileURL(`${folder}/index.html`).href}\n`);
    out.hint(`exported ${plural(done.threads, 'thread')} on ${plural(done.pages, 'page')}`);
  } catch (error) {
    progress?.clear();
    if (error instanceof SecretsInExport) {
      const onPages = error.onPages.slice(0, MAX_PLACES).map(({ file, at, rule }) => `${file} ${at}  ${oneLine(rule)}`);
      for (const line of [...secretLines(error.secrets), ...onPages]) cli.stderr.write(`${line}\n`);
    }
    throw error;
  } finally {
    await repository.close();
  }
}

async function newestThreads(repository: Repository, most: number, out: Output): Promise<ThreadPointer[]> {
  const listed = await listThreads(readingContext(repository), { statuses: threadStatuses, limit: most + 1 });
  if (listed.length > most) out.hint(`the newest ${most} threads are exported; name others to have those`);
  const newest = listed.slice(0, most);
  // Of a ref that is damaged there is no page.
  const sound = newest.filter(({ head }) => head !== null);
  if (sound.length < newest.length)
    out.hint("threads whose refs are damaged are left out; 'uwf doctor' says which and how");
  const pointers = await Promise.all(sound.map(({ thread }) => findThread(repository, thread)));
  return pointers.flatMap((pointer) => pointer ?? []);
}
