import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { descendantsOf } from '../../src/agent/processes/process-group.ts';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  waitForRepacking,
} from '../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../helpers/temporary-repository.ts';

/** How a `uwf` in a process of its own ended, and what it said. */
export type UwfOutcome = {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** The lines of stdout that are JSON objects, or the single object or list. */
  json: Record<string, unknown>[];
  tookMs: number;
};

export type RunningUwf = { process: ChildProcess; pid: number; outcome: Promise<UwfOutcome> };

export type UwfOptions = {
  /** Default: the scene's folder. */
  cwd?: string;
  /** On top of the isolated environment; `undefined` takes a variable away. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Makes it the leader of a process group, as a shell with job control does. */
  leadsGroup?: boolean;
};

/** A repository with agents and workflows in it, and uwf as processes of their own. */
export type Scene = TemporaryRepository & {
  gitDir: string;
  /** A temporary folder where uwf may keep work trees. */
  state: string;
  /** Runs `uwf` until it ends. */
  uwf(args: readonly string[], options?: UwfOptions): Promise<UwfOutcome>;
  /** Starts `uwf`; whatever is left of it and of its children is ended with the test. */
  start(args: readonly string[], options?: UwfOptions): RunningUwf;
  /** Writes a file of the work tree; one that starts with `#!` can be run. */
  write(path: string, text: string): void;
  /** The lines of a file of the work tree; none where there is no file. */
  lines(path: string): string[];
  /** Starts a thread of a workflow, and returns its id. */
  startThread(workflow: string): Promise<string>;
};

/** Makes a repository whose files are given by their paths in the work tree. */
export function createScene(
  files: Readonly<Record<string, string>>,
  repository: TemporaryRepository = createTemporaryRepository(),
): Scene {
  const { dir } = repository;
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
    if (content.startsWith('#!')) chmodSync(join(dir, path), 0o755);
  };
  for (const [path, content] of Object.entries(files)) write(path, content);
  const start = (args: readonly string[], options: UwfOptions = {}): RunningUwf =>
    startUwf(args, { cwd: dir, ...options });
  return {
    ...repository,
    state: createTemporaryFolder(),
    gitDir: existsSync(join(dir, '.git')) ? join(dir, '.git') : dir,
    start,
    uwf: (args, options) => start(args, options).outcome,
    write,
    lines: (path) =>
      existsSync(join(dir, path)) ? readFileSync(join(dir, path), 'utf8').split('\n').filter(Boolean) : [],
    startThread: async (workflow) => {
      const { json } = await start(['thread', 'start', workflow, '-p', 'do it', '--json']).outcome;
      return String(json[0]?.['thread']);
    },
  };
}

/** Starts the program that is shipped. */
export function startUwf(args: readonly string[], { cwd, env = {}, leadsGroup = false }: UwfOptions): RunningUwf {
  const beganMs = performance.now();
  const child = spawn(process.execPath, [join(packageRoot(), 'bin', 'uwf.js'), ...args], {
    cwd,
    env: { ...isolatedGitEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: leadsGroup,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('uwf could not be started');
  try {
    onTestFinished(() => {
      for (const left of [pid, ...descendantsOf(pid)]) tryToKill(left);
    });
  } catch {
    // Not within a test: whoever started it waits for it.
  }
  const ended = new Promise<Pick<UwfOutcome, 'code' | 'signal'>>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const outcome = Promise.all([ended, said]).then(([end, [stdout, stderr]]) => ({
    ...end,
    stdout,
    stderr,
    json: jsonOf(stdout),
    tookMs: performance.now() - beganMs,
  }));
  return { process: child, pid, outcome };
}

function jsonOf(stdout: string): Record<string, unknown>[] {
  const parse = (line: string): Record<string, unknown>[] => {
    try {
      const value: unknown = JSON.parse(line);
      // uwf prints objects and lists of objects, and nothing else that is JSON.
      return Array.isArray(value) ? (value as Record<string, unknown>[]) : [value as Record<string, unknown>];
    } catch {
      return [];
    }
  };
  const whole = parse(stdout);
  return whole.length > 0 ? whole : stdout.split('\n').flatMap(parse);
}

function tryToKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended, as it should.
  }
}

/** Waits until something holds; fails with `what` after half a minute. */
export async function until(what: string | (() => string), holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain: ${typeof what === 'string' ? what : what()}`);
    await sleep(10);
  }
}

/**
 * Takes a thread's lease away by hand, once it names the agent: who has just begun to write that down would put it back.
 */
export async function removeLease({ gitDir }: Scene, thread: string): Promise<void> {
  const path = join(gitDir, 'uwf', 'leases', `${thread}.json`);
  // It is uwf's own: `src/engine/leases/find-lease.ts`.
  const read = (): { processGroups: unknown[] } =>
    JSON.parse(readFileSync(path, 'utf8')) as { processGroups: unknown[] };
  await until('the lease names the agent', () => read().processGroups.length > 0);
  rmSync(path);
}

/** What uwf remembers of threads and nodes, and what it writes down of its work: complete whenever it is there, and done without whenever it is not. */
const remembered = /^uwf\/(facts|lookup|journal)\/.*\.(json|jsonl|segment|starts|listed)$/;

/**
 * The files of a repository's folder with their sizes, but for what uwf may remember at any time; to compare what was
 * there before with what is there after.
 */
export function filesBelow(gitDir: string): string[] {
  const names = readdirSync(gitDir, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => !remembered.test(name) && statSync(join(gitDir, name)).isFile())
    .map((name) => `${name} ${statSync(join(gitDir, name)).size}`)
    .toSorted();
}

/** Names of files that only somebody at work may have: locks, temporary files, claims, keeps. */
const unfinished = /(\.lock|\.new|\.keep|\.tmp|\.input)$|(^|\/)\.?(tmp|temp)[-_]|\.claim-|^uwf\/(leases|steps)\/./;

/** What somebody who has ended should have taken away. */
export function unfinishedBelow(gitDir: string): string[] {
  waitForRepacking(gitDir);
  return readdirSync(gitDir, { recursive: true, encoding: 'utf8' }).filter((name) => unfinished.test(name));
}

/** A role in a workflow's file, one line of YAML; its reply has one of some statuses. */
export function role(...statuses: string[]): string {
  return roleWith({ $status: { enum: statuses } });
}

/** A role whose reply has some fields, all of them required; more of the role itself, as YAML. */
export function roleWith(properties: Record<string, unknown>, more: Record<string, unknown> = {}): string {
  const schema = { type: 'object', properties, required: Object.keys(properties) };
  return JSON.stringify({ description: 'works', systemPrompt: 'Work.', schema, ...more });
}

/** A workflow's file in which roles follow each other, once each, and all say `done`. */
export function chain(name: string, roles: readonly string[], more = ''): string {
  return workflow(
    name,
    Object.fromEntries(roles.map((one) => [one, role('done')])),
    ['__start__', ...roles].map((from, index) => ({ from, to: roles[index] ?? '__end__', when: null })),
    more,
  );
}

/** A workflow's file. */
export function workflow(
  name: string,
  roles: Readonly<Record<string, string>>,
  rules: readonly unknown[],
  more = '',
): string {
  return [
    `name: ${name}`,
    `description: ${name}`,
    'roles:',
    ...Object.entries(roles).map(([one, text_]) => `  ${one}: ${text_}`),
    'moderator:',
    ...rules.map((rule) => `  - ${JSON.stringify(rule)}`),
    more,
    '',
  ].join('\n');
}

/** A configuration in which one program does every role that no other is named for. */
export function config(program: readonly string[], more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    agents: { robot: { package: 'builtin:command', config: { argv: program, graceMs: 300 } } },
    defaultAgent: 'robot',
    ...more,
  });
}

/** A program that writes down each of its turns in the file `turns`, and then says that it is done. */
export const diligent = `#!/bin/sh
echo "$UWF_ROLE" >> turns
printf -- '---\\n$status: done\\n---\\n%s has done its work.\\n' "$UWF_ROLE"
`;

/** A program that writes itself down in `turns`, and works until the file `go` is there. */
export const patient = `#!/bin/sh
echo "$UWF_ROLE" >> turns
while [ ! -e go ]; do sleep 0.02; done
printf -- '---\\n$status: done\\n---\\n%s has waited.\\n' "$UWF_ROLE"
`;

/** A workflow `pair` of two roles, whose program works until the file `go` is there. */
export function createPatientScene(): Scene {
  return createScene({
    '.uwf/workflows/pair.yaml': chain('pair', ['one', 'two']),
    '.uwf/config.yaml': config(['./agent']),
    agent: patient,
  });
}
