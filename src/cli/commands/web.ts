import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { UsageError } from '../errors/exit-code.ts';
import { type Command, defineCommand, optionalThreadArgument, parsePort } from '../command-line/command.ts';
import { configOrNone, redactorHere } from '../open/open-config.ts';
import { machineKey, openForReading } from '../open/open-repository.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import type { Repository } from '../../git/repository.ts';
import type { Redactor } from '../../redaction/redactor.ts';
import { createWebHandler } from '../../web/routes/create-web-handler.ts';
import { serveWeb } from '../../web/routes/serve-web.ts';

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
      const { exportPages } = await import('../web/export-pages.ts');
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
        ...(write && { actions: (await import('../web/page-actions.ts')).pageActions(cli, repository) }),
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
