import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { cloneCliRepository, createCliRepository, type CliRepository } from '../helpers/cli.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
} from '../helpers/temporary-repository.ts';
import { hiddenIn } from '../helpers/web-visitor.ts';
import { startUwf, until } from './scene.ts';

/** A person at a machine. */
export type Person = { name: string; by: string; env: Record<string, string> };

/** A clone that people work in. */
export type Desk = CliRepository & { page: Page };

/** The question of a role, as it was seen. */
export type Question = { thread: string; head: string; suspension: string; words: string; role: Role };

/** An answer that a person gives, and what they are told. */
export type Given = { token: string; by: string; channel: string; question: Question; isTaken: boolean; told: string };

const roles = {
  judge: '{ schema: { properties: { $status: { enum: [granted, refused] } }, required: [$status] } }',
  form: '{ schema: { properties: { title: { type: string }, days: { type: integer } }, required: [title, days] } }',
  note: '{ schema: {} }',
};
type Role = keyof typeof roles;
const rolesOf = (...names: Role[]): string => names.map((name) => `  ${name}: ${roles[name]}`).join('\n');
const prompt = (words: string): string => `prompt: '{{ start.prompt }} ${words}?'`;

const workflows = {
  '.uwf/workflows/row.yaml': `name: row
roles:
${rolesOf('judge', 'form', 'note')}
moderator:
  - { from: __start__, to: judge, when: null, ${prompt('judge')} }
  - { from: judge, to: form, when: null, ${prompt('form')} }
  - { from: form, to: note, when: null, ${prompt('note')} }
  - { from: note, to: __end__, when: null }
`,
  '.uwf/workflows/block.yaml': `name: block
roles:
${rolesOf('judge', 'form', 'note')}
blocks:
  both:
    isolation: shared
    branches:
      a: { role: form, ${prompt('form')} }
      b: { role: note, ${prompt('note')} }
    join: all
moderator:
  - { from: __start__, to: both, when: null }
  - { from: both, to: judge, when: null, ${prompt('judge')} }
  - { from: judge, to: __end__, when: null }
`,
};

/** The person of a name. */
export function person(name: string): Person {
  const email = `${name.toLowerCase()}@example.com`;
  const env = { GIT_AUTHOR_NAME: name, GIT_AUTHOR_EMAIL: email, GIT_COMMITTER_NAME: name, GIT_COMMITTER_EMAIL: email };
  return { name, by: `${name} <${email}>`, env: { ...env, XDG_CONFIG_HOME: createTemporaryFolder() } };
}

/** A bare remote, the clones of two persons with a page each, and the clone of a worker. */
export async function createTeam(
  ann: Person,
  bob: Person,
): Promise<{ remote: string; desks: Desk[]; box: CliRepository }> {
  const { dir: remote } = createTemporaryRepository({ bare: true });
  const config = JSON.stringify({ agents: { me: { package: 'builtin:human' } }, defaultAgent: 'me' });
  const first = createCliRepository({ ...workflows, '.uwf/config.yaml': config });
  first.git('remote', 'add', 'origin', remote);
  first.git('add', '.');
  first.git('commit', '-qm', 'workflows');
  first.git('push', '-q', 'origin', 'main');
  const second = cloneCliRepository(remote);
  const desks = [
    { ...first, page: await openPage(first.dir, ann) },
    { ...second, page: await openPage(second.dir, bob) },
  ];
  return { remote, desks, box: cloneCliRepository(remote) };
}

/** A browser at the page of a clone. */
export type Page = {
  owner: Person;
  get(path: string): Promise<string>;
  post(path: string, fields: Record<string, string>): Promise<{ status: number; text: string }>;
};

async function openPage(dir: string, owner: Person): Promise<Page> {
  const bin = join(packageRoot(), 'bin/uwf.js');
  const env = { ...isolatedGitEnvironment, ...owner.env };
  const child = spawn(process.execPath, [bin, 'web', '--port', '0', '--write'], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { origin, hash } = new URL(line);
  let cookie = '';
  const post = (path: string, fields: Record<string, string>): Promise<Response> =>
    fetch(origin + path, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin, 'sec-fetch-site': 'same-origin', cookie },
      body: new URLSearchParams(fields),
    });
  const login = await post('/login', { secret: hash.slice('#token='.length), to: '/' });
  cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  return {
    owner,
    get: async (path) => (await fetch(origin + path, { headers: { cookie } })).text(),
    async post(path, fields) {
      const response = await post(path, fields);
      return { status: response.status, text: await response.text() };
    },
  };
}

/** What the answer of a token is: at a terminal, in a form, and as a text. */
const answers: Record<
  Role,
  (token: string) => { typed: [asked: string, keys: string][]; fields: Record<string, string>; text: string }
> = {
  judge: (token) => ({
    typed: [['[granted/refused]', `granted: ${token}\n`]],
    fields: { '/%24status': 'granted', answer: token },
    text: `refused: ${token}`,
  }),
  form: (token) => ({
    typed: [
      ['title (', `${token}\n`],
      ['days (', '3\n'],
    ],
    fields: { '/title': token, '/days': '3' },
    text: `---\ntitle: ${token}\ndays: 3\n---\n`,
  }),
  note: (token) => ({ typed: [['note?', `${token}\n.\n`]], fields: { answer: token }, text: token }),
};

/** A way in which a person answers: prepares until the question is before them, and then gives the answer. */
export type Channel = { name: string; by: string; prepare(question: Question, token: string): Promise<Giving> };
type Giving = (delayMs: number) => Promise<{ isTaken: boolean; told: string }>;

/** `uwf thread resume` at a pseudo-terminal. */
export function terminalOf({ dir }: Desk, { name, by, env }: Person): Channel {
  return {
    name: `terminal of ${name}`,
    by,
    async prepare({ thread, words, role }, token) {
      const argv = [process.execPath, join(packageRoot(), 'bin/uwf.js'), 'thread', 'resume', thread];
      const child = spawn('script', ['-qec', argv.map((word) => `'${word}'`).join(' '), '/dev/null'], {
        cwd: dir,
        env: { ...isolatedGitEnvironment, ...env, TERM: 'xterm', NO_COLOR: '1' },
      });
      onTestFinished(() => void child.kill('SIGKILL'));
      // It can end while its answer is typed.
      child.stdin.on('error', () => {});
      let shown = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
      const ended = once(child, 'close').then(([code]) => Number(code));
      let isOpen = true;
      void ended.then(() => (isOpen = false));
      // The next role of the same thread is asked at the same terminal.
      const isElsewhere = (): boolean =>
        !isOpen || [...shown.matchAll(/ (\w+)\?/gu)].some(([, asked]) => asked !== role) || shown.includes('elsewhere');
      await until(
        () => `the terminal asks '${words}': ${shown}`,
        () => shown.includes(words) || !isOpen,
      );
      return async (delayMs) => {
        await sleep(delayMs);
        for (const [asked, keys] of answers[role](token).typed) {
          await until(
            () => `the terminal asks '${asked}': ${shown}`,
            () => shown.includes(asked) || isElsewhere(),
          );
          if (isElsewhere()) break;
          child.stdin.write(keys);
        }
        const hasGoneOn = (): boolean =>
          !isOpen || [...shown.matchAll(/ (\w+)\?/gu)].some(([, asked]) => asked !== role);
        await until(() => `the terminal goes on: ${shown}`, hasGoneOn);
        child.stdin.write('\u0003');
        const code = await ended;
        const isTaken = !shown.includes('answered elsewhere') && [0, 4, 130].includes(code);
        return { isTaken, told: `${code} ${shown.replaceAll('\r', '')}` };
      };
    },
  };
}

/**
 * `uwf thread resume` with the answer, here or with `--on origin`. It names no question: the moment at which it is given tells which
 * one is meant, so that it is given at once.
 */
export function commandOf({ dir }: Desk, { name, by, env }: Person, more: readonly string[] = []): Channel {
  return {
    name: ['resume', ...more, 'of', name].join(' '),
    by,
    prepare: ({ thread, role }, token) =>
      Promise.resolve(async () => {
        const argv = ['thread', 'resume', thread, '-p', answers[role](token).text, ...more];
        const { code, stdout, stderr } = await startUwf(argv, { cwd: dir, env }).outcome;
        return { isTaken: code === 0 || code === 4, told: `${code} ${stdout}${stderr}` };
      }),
  };
}

/** The form of the page. */
export function pageOf({ page }: Desk): Channel {
  return {
    name: `page of ${page.owner.name}`,
    by: page.owner.by,
    async prepare({ thread, role }, token) {
      let hidden: Record<string, string> = {};
      await until('the page has the form', async () => {
        hidden = hiddenIn(await page.get(`/t/${thread}`));
        return 'asked' in hidden;
      });
      return async (delayMs) => {
        await sleep(delayMs);
        const { status, text } = await page.post(`/t/${thread}/resume`, { ...hidden, ...answers[role](token).fields });
        return { isTaken: status === 303, told: `${status} ${text}` };
      };
    },
  };
}
