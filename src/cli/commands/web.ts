import { spawn } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { prepareHashing } from '../../cas/hash.ts';
import { listThreads } from '../../engine/describe/list-threads.ts';
import type { Engine } from '../../engine/engine.ts';
import { limitOptions } from '../../engine/limits/limits.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { formatCount, plural } from '../../text/wording.ts';
import { findThread, getThread } from '../../thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { threadStatuses } from '../../thread/thread-state.ts';
import { assertSeen, forkBehind } from '../../web/engine-actions.ts';
import { exportWeb, SecretsInExport } from '../../web/export/export-web.tsx';
import { createWebHandler } from '../../web/routes/create-web-handler.ts';
import { serveWeb } from '../../web/routes/serve-web.ts';
import type { SeenThread, WebActions } from '../../web/site.ts';
import { resolveWorkflow } from '../../workflow/load/resolve-workflow.ts';
import { type Command, defineCommand, optionalThreadArgument, parsePort } from '../command-line/command.ts';
import { UsageError } from '../errors/exit-code.ts';
import { configOrNone, redactionHere, redactorHere, scanningRedactor } from '../open/open-config.ts';
import { openEngine } from '../open/open-engine.ts';
import { machineKey, openForReading, withCommitter } from '../open/open-repository.ts';
import { secretLines } from '../output/findings.ts';
import type { Output } from '../output/output.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { oneLine } from '../output/text.ts';
import { startInBackground } from '../process/background.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';

const LOOPBACK = '127.0.0.1';
/** A repository's port is one of these, so that its address stays the same; the ones behind it are tried if it is taken. */
const FIRST_PORT = 7400;
const PORTS = 1000;
const PORTS_TRIED = 10;
/** So many threads are exported where none is named. */
const EXPORTED = 100;

export const webCommand: Command = defineCommand({
  description: `Serves a page of this repository until it is interrupted: its threads, what they wait for, and what their
agents say while they work. It prints the address, whose last part is a token that logs a browser in; the browser stays
logged in when the command starts again.

The page only shows unless --write is given. Trust in a repository is never given on the page: 'uwf trust' does that.

It listens on ${LOOPBACK}. With --host it listens elsewhere, and asks for the password in UWF_WEB_PASSWORD; it speaks plain
HTTP, so put a proxy that speaks TLS in front of it, or use 'ssh -L' and omit --host.

With --export it serves nothing: it writes the pages of the named threads and of their children into a folder, or those of the
newest ${EXPORTED}. They open from a disk and from any web server, with a search, and contain no other threads. Secrets
are refused as by 'uwf push'. An earlier export in the folder is replaced; a folder that has anything else is refused.`,
  arguments: [
    {
      ...optionalThreadArgument,
      summary: 'with --export: threads, by their ids or first characters',
      isRepeatable: true,
    },
  ],
  options: {
    port: { value: '<n>', summary: 'listen on this port; 0 takes any that is free', parse: parsePort },
    host: { value: '<addr>', summary: 'listen on this address, with a password' },
    write: { summary: 'let visitors answer and run threads' },
    open: { summary: 'open the page in your browser' },
    export: { value: '<folder>', summary: 'write pages of threads as files, and serve nothing', candidates: 'folder' },
    'allow-secrets': { summary: 'with --export: write threads although they have what looks like a secret' },
  },
  examples: [
    { command: 'uwf web --open', comment: 'look at what goes on' },
    { command: 'uwf web --write', comment: 'answer on the page, too' },
    { command: 'uwf web --export run 01KAM4', comment: 'a run as a folder, to show it to others' },
  ],
  exitCodes: { 1: 'what was to be exported has secrets, or the folder has other files; nothing was written' },
  async run({ args, options, cli, out }) {
    if (options.export !== undefined) {
      return exportPages(cli, out, {
        folder: options.export,
        threads: args.thread,
        most: EXPORTED,
        allowSecrets: options['allow-secrets'],
      });
    }
    if (args.thread.length > 0 || options['allow-secrets']) {
      throw new UsageError('threads and --allow-secrets need --export; the page has all threads');
    }
    const { host = LOOPBACK, port, write, open } = options;
    const password = cli.env['UWF_WEB_PASSWORD'] || undefined;
    const isLocal = host === LOOPBACK || host === 'localhost' || host === '::1';
    if (!isLocal && password === undefined) {
      throw new UsageError(`--host ${host} needs a password in UWF_WEB_PASSWORD: others can reach the page there`);
    }
    const repository = await openForReading(cli);
    const place = repository.location?.commonDir ?? 'memory';
    const id = createHash('sha256').update(place).digest();
    const first = FIRST_PORT + (id.readUInt32BE(0) % PORTS);
    const ports =
      port === undefined ? [...Array.from({ length: PORTS_TRIED }, (_, index) => first + index), 0] : [port];
    const token = newToken();
    // Other users of the machine can see the arguments of the browser, so its token works only once.
    const once = open ? newToken() : undefined;
    // A changed password ends the sessions of the old one.
    const sealed = isLocal ? place : `${place}\n${password}`;
    const key = createHmac('sha256', machineKey(cli.env, 'web.key')).update(sealed).digest();
    const server = await serveWeb(host, ports, async (listening, signal) =>
      createWebHandler(repository, {
        key,
        secret: isLocal ? { token, once } : { password: password ?? '' },
        cookie: `uwf-${id.toString('hex', 0, 6)}-${listening}`,
        env: cli.env,
        hosts: isLocal ? [] : [host.toLowerCase(), hostname().toLowerCase()],
        redactor: await pageRedactor(cli, repository),
        ...(write && { actions: pageActions(cli, repository) }),
        signal,
      }),
    );
    const address = `http://${host.includes(':') ? `[${host}]` : host}:${server.port}/`;
    const pageFor = (secret: string): string => (isLocal ? `${address}#token=${secret}` : address);
    cli.stdout.write(`${pageFor(token)}\n`);
    if (!isLocal) out.hint('this page is not encrypted: others on the way can read it and the password');
    if (once !== undefined) await openInBrowser(pageFor(once));
    await new Promise((resolve) => cli.signal.addEventListener('abort', resolve));
    await server.close();
    await repository.close();
  },
});

/** What `push` searches with; a configuration with mistakes knows no secrets of its own. */
async function pageRedactor(cli: CliEnvironment, repository: Repository): Promise<Redactor> {
  return redactorHere(cli, repository, await configOrNone(cli, repository));
}

function newToken(): string {
  return randomBytes(24).toString('base64url');
}

/** Opens an address in the user's browser; the printed address is there where that fails. */
async function openInBrowser(page: string): Promise<void> {
  const programs = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] } as const;
  const [program, ...argv] =
    process.platform === 'darwin' || process.platform === 'win32' ? programs[process.platform] : ['xdg-open'];
  const child = spawn(program ?? 'xdg-open', [...argv, page], { detached: true, stdio: 'ignore' });
  child.on('error', () => {});
  child.unref();
}

type PagesOptions = { folder: string; threads: readonly string[]; most: number; allowSecrets: boolean };

const MAX_PLACES = 20;

/** Writes the pages of the named threads into a folder, or those of the newest ones. */
async function exportPages(cli: CliEnvironment, out: Output, options: PagesOptions): Promise<void> {
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
  const listed = await listThreads({ repository }, { statuses: threadStatuses, limit: most + 1 });
  if (listed.length > most) out.hint(`the newest ${most} threads are exported; name others to have those`);
  const newest = listed.slice(0, most);
  // Of a ref that is damaged there is no page.
  const sound = newest.filter(({ head }) => head !== null);
  if (sound.length < newest.length)
    out.hint("threads whose refs are damaged are left out; 'uwf doctor' says which and how");
  const pointers = await Promise.all(sound.map(({ thread }) => findThread(repository, thread)));
  return pointers.flatMap((pointer) => pointer ?? []);
}

/** What the page does, in the way of the commands: what runs an agent goes on in a process of its own. */
export function pageActions(atTerminal: CliEnvironment, opened: Repository): WebActions {
  // Trust is never given on the page, nor by a question at the terminal of the server, which no person watches.
  const cli: CliEnvironment = Object.create(atTerminal, { stdin: { value: Readable.from([]) } });
  /** The page itself commits nothing, and starts without asking git who the user is. */
  const here = (): Promise<Repository> => withCommitter(cli, opened);
  const openHere = async (): Promise<Engine> => openEngine(cli, await here());

  /** Runs a command in a process of its own, with words of the person as its input. */
  const runApart = async (
    thread: ThreadId,
    argv: readonly string[],
    words?: string,
    seen?: ObjectId,
    others?: readonly SeenThread[],
  ): Promise<void> => {
    const repository = await here();
    // It lies in a file until the process has read it.
    const input = words && (await redactionHere(cli, repository)).text(words);
    const file = words === undefined ? [] : ['--file', '-'];
    const assertStill = (): Promise<void> =>
      seen === undefined ? Promise.resolve() : assertSeen(repository, { id: thread, head: seen }, others);
    await startInBackground(cli, repository, thread, [...argv, ...file], input, assertStill);
  };

  return {
    async resume(thread, { answer, more }, seen, others) {
      await (await openHere()).checkResume(thread, { answer, more });
      const limits = limitOptions.flatMap(([name, option]) =>
        more?.[name] === undefined ? [] : [`--${option}=${more[name]}`],
      );
      await runApart(thread, ['thread', 'resume', thread, ...limits], answer, seen, others);
    },
    async poke(thread, word, seen) {
      await (await openHere()).checkRun(thread);
      await runApart(thread, ['thread', 'poke', thread], word, seen);
    },
    fork: async (thread, step) => forkBehind(await here(), thread, step),
    ask: async (thread, question, step) => (await openHere()).ask(thread, question, { step }),
    cancel: async (thread, reason) => void (await (await openHere()).cancel(thread, { reason })),
    stop: async (thread) => void (await (await openHere()).stop(thread)),
    async start(workflow, prompt) {
      // Names mean what the page lists: the files of the work tree's top.
      const cwd = opened.location?.workTree ?? cli.cwd;
      const { definition } = await resolveWorkflow(opened, workflow, { cwd });
      const { thread } = await (await openHere()).start({ definition, prompt, requireAgents: true });
      await runApart(thread, ['thread', 'run', thread]);
      return thread;
    },
  };
}
