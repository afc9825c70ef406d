import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, onTestFinished } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { createCliRepository, scriptedConfig, type CliRepository } from '../../helpers/cli.ts';
import { createTemporaryFolder, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });

/**
 * Tells whether the tests in a browser are left out. `.ci/run` sets the variable where no chromium can be had.
 * @throws where there is none, and nothing says that they are left out
 */
export function isWithoutBrowser(): boolean {
  if (program === undefined && process.env['SUITE_WITHOUT_CHROMIUM'] !== '1') {
    throw new Error("there is no 'chromium' on PATH: install it (Debian's chromium), or set SUITE_WITHOUT_CHROMIUM=1");
  }
  return program === undefined;
}

let browser: Promise<Browser> | undefined;

/** A browser's profile of its own: its cookies, its tabs. */
export async function openProfile(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  browser ??= chromium.launch({
    ...(program !== undefined && { executablePath: program }),
    args: ['--no-sandbox', '--disable-background-networking'],
  });
  const profile = await (await browser).newContext(options);
  profile.setDefaultTimeout(20_000);
  onTestFinished(() => profile.close());
  return profile;
}

/** To be called once in each file. */
export function closeBrowserAfterwards(): void {
  afterAll(async () => {
    await (await browser)?.close();
    browser = undefined;
  });
}

/** A process that serves the page. */
export type WebProcess = {
  pid: number;
  /** Without the token. */
  origin: string;
  /** The address that it printed. */
  address: string;
  token: string;
  kill(): Promise<void>;
};

/** A thread in a list of the command line. */
export type ListedThread = { thread: string; status: string; head: string };

/** A repository whose page is watched. */
export type PageRepository = CliRepository & {
  env: Record<string, string>;
  serve(options?: { port?: number; write?: boolean }): Promise<WebProcess>;
  /** All threads, as `thread list --json` has them. */
  threads(): Promise<ListedThread[]>;
  /** Runs uwf in a process of its own, as at another terminal. */
  run(...argv: string[]): Promise<{ code: number; stdout: string }>;
};

const role = (schema: string): string => `{ description: d, systemPrompt: s, schema: ${schema} }`;

/** `talk` speaks for a while, `ask` waits for an answer, `two` takes two turns. */
const workflows = {
  '.uwf/workflows/talk.yaml': `name: talk
description: speaks
roles: { talker: ${role('{ type: object }')} }
moderator: [{ from: __start__, to: talker }, { from: talker, to: __end__ }]
`,
  '.uwf/workflows/ask.yaml': `name: ask
description: asks
roles:
  asker: ${role('{ type: object }')}
  closer: ${role('{ type: object }')}
moderator: [{ from: __start__, to: asker }, { from: asker, to: closer }, { from: closer, to: __end__ }]
`,
};

/** Says a number and the time, `count` times, every `everyMs`. */
const talker = (count: number, everyMs: number): string =>
  `let n = 0; const t = setInterval(() => { process.stdout.write('w' + n + '@' + Date.now() + ' ');` +
  ` if (++n === ${count}) clearInterval(t); }, ${everyMs});`;

/** @param words how many times the agent of `talk` speaks, and how often */
export function createPageRepository(words = { count: 40, everyMs: 100 }): PageRepository {
  const replies = {
    asker: [{ suspend: 'May I go on?', reply: '---\n{}\n---\nYou said {{ answer }}' }],
    closer: ['---\n{}\n---\n# Done\n\nAll is **well**.'],
  };
  const config = {
    agents: {
      script: { package: 'builtin:scripted', config: { replies, repeat: true } },
      words: {
        package: 'builtin:command',
        config: { argv: [process.execPath, '-e', talker(words.count, words.everyMs)], statuses: { 0: 'said' } },
      },
    },
    roles: { talker: 'words' },
  };
  return pageRepositoryOf(createCliRepository({ ...workflows, '.uwf/config.yaml': scriptedConfig(replies, config) }));
}

/** A repository, for a user who has a home. */
export function pageRepositoryOf(repository: CliRepository): PageRepository {
  const env = { ...isolatedGitEnvironment, HOME: createTemporaryFolder() };
  const bin = join(packageRoot(), 'bin/uwf.js');
  return {
    ...repository,
    env,
    async serve({ port = 0, write = true } = {}) {
      const argv = [bin, 'web', '--port', String(port), ...(write ? ['--write'] : [])];
      const child = spawn(process.execPath, argv, { cwd: repository.dir, env, stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = once(child, 'exit');
      const kill = async (): Promise<void> => {
        child.kill('SIGKILL');
        await ended;
      };
      onTestFinished(kill);
      const lines = createInterface(child.stdout);
      const failed = ended.then(() => Promise.reject(new Error('uwf web ended before it printed its address')));
      const [address] = (await Promise.race([once(lines, 'line'), failed])) as [string];
      failed.catch(() => {});
      const { origin, hash } = new URL(address);
      return { pid: child.pid ?? 0, origin, address, token: hash.replace('#token=', ''), kill };
    },
    // It prints such a list.
    threads: async () => (await repository.json(['thread', 'list', '--all', '-n', '50'])) as ListedThread[],
    async run(...argv) {
      const child = spawn(process.execPath, [bin, ...argv], {
        cwd: repository.dir,
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let stdout = '';
      child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
      // `close` comes with the exit code.
      const [code] = (await once(child, 'close')) as [number];
      return { code, stdout };
    },
  };
}

/** Logs a profile in by the printed address, and gives the tab in which it did. */
export async function logIn(profile: BrowserContext, { address }: WebProcess): ReturnType<BrowserContext['newPage']> {
  const page = await profile.newPage();
  await page.goto(address);
  await page.waitForURL((url) => url.pathname === '/');
  await page.getByRole('heading', { name: 'Threads', level: 1 }).waitFor();
  return page;
}

/** Says of a tab that it is hidden: tabs of a headless browser always say that they are visible. */
export async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'))`);
}
