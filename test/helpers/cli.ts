import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import type { CliEnvironment } from '../../src/cli/process/cli-environment.ts';
import { main } from '../../src/cli/main.ts';
import { assertParses, commandsOfHints, isHarmless, wordsOf } from './hints.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
  runGit,
  temporaryRepositoryAt,
  type TemporaryRepository,
  type TemporaryRepositoryOptions,
} from './temporary-repository.ts';

/** A command's output and exit code. */
export type CommandResult = {
  code: number;
  stdout: string;
  stderr: string;
  /** Both streams, in the order of writing. */
  all: string;
};

/** A stream that records its content. */
export function recorder(
  log: string[],
  terminal: { isTTY?: boolean; columns?: number } = {},
): CliEnvironment['stdout'] & { text: string } {
  return {
    text: '',
    ...terminal,
    write(chunk: string | Uint8Array) {
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      this.text += text;
      log.push(text);
      return true;
    },
  };
}

export type CommandOptions = {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** The content of stdin. */
  input?: string | Uint8Array;
  /** Whether stdout and stderr are a terminal. */
  isTTY?: boolean;
  /** The width of the terminal; default: 100. */
  columns?: number;
  signal?: AbortSignal;
  now?: () => number;
};

/** Runs a command in this process. */
export async function runCommand(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const log: string[] = [];
  const terminal = options.isTTY ? { isTTY: true, columns: options.columns ?? 100 } : {};
  const stdout = recorder(log, terminal);
  const stderr = recorder(log, terminal);
  const code = await main(argv, {
    stdout,
    stderr,
    stdin: inputOf(options.input ?? ''),
    env: { ...isolatedGitEnvironment, ...options.env },
    signal: options.signal ?? new AbortController().signal,
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.now && { now: options.now }),
  });
  await followHints(stderr.text, options);
  return { code, stdout: stdout.text, stderr: stderr.text, all: log.join('') };
}

/**
 * Checks the hints that a command has printed: each command in them exists and accepts its arguments, and a command that only
 * reads succeeds. `hints-followed.long.test.ts` runs those that change something.
 */
async function followHints(stderr: string, { cwd, env }: CommandOptions): Promise<void> {
  for (const command of commandsOfHints(stderr)) {
    const words = wordsOf(command);
    try {
      await assertParses(words);
    } catch (error) {
      // The answer to a mistyped command is a name, which replaces the mistyped one.
      const isName = stderr.includes(`did you mean '${command}'`) && / needs an? /u.test(String(error));
      if (!isName) throw error;
      continue;
    }
    if (!isHarmless(words)) continue;
    const said: string[] = [];
    const code = await main(words, {
      stdout: recorder(said),
      stderr: recorder(said),
      stdin: inputOf(''),
      env: { ...isolatedGitEnvironment, ...env },
      signal: new AbortController().signal,
      ...(cwd !== undefined && { cwd }),
    });
    if (code !== 0) throw new Error(`a hint names '${command}', which exits with ${code}: ${said.join('')}`);
  }
}

async function* inputOf(input: string | Uint8Array): AsyncGenerator<string | Uint8Array> {
  if (input.length > 0) yield input;
}

/** A repository, and functions that run uwf in it. */
export type CliRepository = TemporaryRepository & {
  /** Runs `uwf` in the repository. */
  uwf(argv: readonly string[], options?: CommandOptions): Promise<CommandResult>;
  /** Runs a command that must succeed, and returns its JSON. */
  json(argv: readonly string[], options?: CommandOptions): Promise<unknown>;
  /** The same for a command that prints JSON lines, with any exit code. */
  lines(argv: readonly string[], options?: CommandOptions): Promise<Record<string, unknown>[]>;
  write(path: string, text: string): void;
  /** Starts a thread. @returns its id */
  start(workflow?: string, prompt?: string, ...more: string[]): Promise<string>;
  /** Runs a command, and expects its exit code and some texts: of stdout where it succeeds, else of both streams. */
  says(line: string, code: number, ...texts: (string | RegExp)[]): Promise<CommandResult>;
  /** Makes a bare repository that is its remote `origin`. */
  share(): Remote;
  /** The refs of threads and workflows, with what they point at. */
  shared(): string;
};

/** A bare repository that others push to. */
export type Remote = TemporaryRepository & {
  refs(...prefixes: string[]): string[];
  shared(): string;
  /** Gives it a hook. @returns what takes that away again */
  hook(name: string, script: string): () => void;
  /** Loses an object, as `git gc --prune=now` beside a push does. */
  lose(id: string): void;
  /** Makes a clone, with some files of its own. */
  clone(files?: Record<string, string>, ...options: string[]): CliRepository;
};

export function createCliRepository(
  files: Record<string, string> = {},
  options: TemporaryRepositoryOptions = {},
): CliRepository {
  return cliRepositoryOf(createTemporaryRepository(options), files);
}

/** A clone of another repository, which is its remote `origin`. */
export function cloneCliRepository(
  url: string,
  files: Record<string, string> = {},
  options: readonly string[] = [],
): CliRepository {
  const dir = createTemporaryFolder();
  runGit(dir, ['clone', '--quiet', ...options, url, '.']);
  return cliRepositoryOf(temporaryRepositoryAt(dir), files);
}

/** Functions that run uwf in an existing repository. */
export function cliRepositoryOf(
  repository: TemporaryRepository,
  files: Record<string, string> = {},
  user: CommandOptions['env'] = {},
): CliRepository {
  const uwf = (argv: readonly string[], more: CommandOptions = {}): Promise<CommandResult> =>
    runCommand(argv, { cwd: repository.dir, ...more, env: { ...user, ...more.env } });
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(repository.dir, path)), { recursive: true });
    writeFileSync(join(repository.dir, path), text);
  };
  const json: CliRepository['json'] = async (argv, more) => {
    const { code, stdout, stderr } = await uwf([...argv, '--json'], more);
    if (code !== 0) throw new Error(`uwf ${argv.join(' ')} exited with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  return {
    ...repository,
    uwf,
    write,
    json,
    async start(workflow = 'loop', prompt = 'x', ...more) {
      return ((await json(['thread', 'start', workflow, '-p', prompt, ...more])) as { thread: string }).thread;
    },
    async says(line, code, ...texts) {
      const result = await uwf(line.split(' '));
      expect({ line, code: result.code }, result.all).toEqual({ line, code });
      for (const text of texts) expect(code === 0 ? result.stdout : result.all).toMatch(text);
      return result;
    },
    share() {
      const remote = remoteOf(createTemporaryRepository({ bare: true }));
      repository.git('remote', 'add', 'origin', remote.dir);
      return remote;
    },
    shared: () => sharedBy(repository),
    async lines(argv, more) {
      const { stdout } = await uwf([...argv, '--json'], more);
      // Each line of a stream is an object.
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
  };
}

function sharedBy({ git }: TemporaryRepository): string {
  return git('for-each-ref', 'refs/threads', 'refs/history', 'refs/workflows');
}

function remoteOf(server: TemporaryRepository): Remote {
  return {
    ...server,
    refs: (...prefixes) =>
      server
        .git('for-each-ref', '--format=%(refname)', ...prefixes)
        .split('\n')
        .filter(Boolean),
    shared: () => sharedBy(server),
    hook(name, script) {
      const path = join(server.dir, 'hooks', name);
      writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      return () => rmSync(path, { force: true });
    },
    lose: (id) => rmSync(join(server.dir, 'objects', id.slice(0, 2), id.slice(2))),
    clone: (files = loopFiles(), ...options) => cloneCliRepository(server.dir, files, options),
  };
}

/** A workflow in which a checker sends a writer's text back until it accepts it. */
export const loopWorkflow = `name: loop
description: writes until the checker accepts
roles:
  writer:
    description: writes
    systemPrompt: You write.
    schema: { type: object, properties: { $status: { const: written }, words: { type: integer } }, required: [$status, words] }
  checker:
    description: checks
    systemPrompt: You check.
    schema: { type: object, properties: { $status: { enum: [accepted, rejected] } }, required: [$status] }
moderator:
  - { from: __start__, to: writer, when: null }
  - { from: writer, to: checker, when: null }
  - { from: checker, to: writer, when: "$steps[-1].meta.\`$status\` = 'rejected'", prompt: "Again." }
  - { from: checker, to: __end__, when: null, prompt: "The text was accepted after {{ steps.size }} steps." }
`;

/** A workflow of two turns in sequence, with any replies. */
export const twoWorkflow = `name: two
description: two turns
roles:
  first: { description: f, systemPrompt: f, schema: { type: object } }
  second: { description: s, systemPrompt: s, schema: { type: object } }
moderator:
  - { from: __start__, to: first }
  - { from: first, to: second }
  - { from: second, to: __end__ }
`;

/** A configuration in which a script has the replies of every role. */
export function scriptedConfig(replies: Record<string, unknown>, more: Record<string, unknown> = {}): string {
  // JSON is YAML.
  return JSON.stringify({
    agents: { script: { package: 'builtin:scripted', config: { replies, repeat: true } } },
    defaultAgent: 'script',
    ...more,
  });
}

/** The replies of the loop's roles if the second text is accepted. */
export const loopReplies: { writer: [string, string]; checker: [string, string] } = {
  writer: [
    '---\n$status: written\nwords: 2\n---\n# A first draft',
    '---\n$status: written\nwords: 3\n---\nA second draft',
  ],
  checker: ['---\n$status: rejected\n---\nToo short', '---\n$status: accepted\n---\nGood'],
};

/** A repository in which `uwf run loop` runs four steps to the end. */
export function createLoopRepository(
  replies: Record<string, unknown> = loopReplies,
  options: TemporaryRepositoryOptions = {},
): CliRepository {
  return createCliRepository(loopFiles(replies), options);
}

function loopFiles(replies: Record<string, unknown> = loopReplies): Record<string, string> {
  return { '.uwf/workflows/loop.yaml': loopWorkflow, '.uwf/config.yaml': scriptedConfig(replies) };
}
