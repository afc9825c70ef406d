import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';

import { orElse } from '../../src/or-else.ts';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { createCliRepository, type CliRepository } from '../helpers/cli.ts';
import { startModelServer } from '../helpers/model-server.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../helpers/temporary-repository.ts';

const schema = '{ properties: { $status: { enum: [done, failed] } }, required: [$status] }';
/** A workflow whose agent runs it again. */
const again = `name: again
description: runs itself again
roles: { caller: { description: calls, schema: ${schema} } }
graph:
  $START: { new: { role: caller, prompt: go } }
  caller: { done: { role: $END, prompt: ok }, failed: { role: $END, prompt: refused } }
`;
/** One whose branches run it again. */
const branching = `name: again
description: runs itself again in two branches
roles: { caller: { description: calls, schema: ${schema} } }
blocks: { both: { isolation: shared, join: all, branches: { a: { role: caller }, b: { role: caller } } } }
graph:
  $START: { new: { role: both, prompt: go } }
  both: { joined: { role: $END, prompt: ok }, failed: { role: $END, prompt: failed } }
`;

const command = ['sh', '-c', 'uwf run again -p again'];
const statuses = { 0: 'done', default: 'failed' };

type Setting = { workflow?: string; limits?: object; agent?: object };

/** A repository with a remote, in which the workflow calls itself. */
function createAgain({ workflow = again, limits = {}, agent }: Setting): CliRepository {
  const caller = agent ?? { package: 'builtin:command', config: { argv: command, statuses } };
  const config = JSON.stringify({ agents: { caller }, defaultAgent: 'caller', limits });
  const repository = createCliRepository({ '.uwf/workflows/again.yaml': workflow, '.uwf/config.yaml': config });
  const remote = createTemporaryRepository({ bare: true });
  repository.git('remote', 'add', 'origin', remote.dir);
  repository.git('add', '.');
  repository.git('commit', '--quiet', '-m', 'Begin');
  repository.git('push', '--quiet', 'origin', 'HEAD:main');
  return repository;
}

type Marked = { root: ChildProcess; descendants(): number[] };

let marks = 0;

/** Starts uwf as a process whose descendants can all be found; none of them outlives the test. */
function startMarked({ dir }: CliRepository, words: readonly string[]): Marked {
  const mark = `${process.pid}-${(marks += 1)}`;
  const env = { ...isolatedGitEnvironment, PATH: process.env['PATH'], UWF_TRUST: 'all', UWF_TEST_MARK: mark };
  const root = spawn(process.execPath, [join(packageRoot(), 'bin/uwf.js'), ...words], {
    cwd: dir,
    env,
    stdio: 'ignore',
  });
  const descendants = (): number[] =>
    readdirSync('/proc')
      .map(Number)
      .filter(
        (pid) =>
          pid > 0 &&
          orElse(() => readFileSync(`/proc/${pid}/environ`, 'utf8'), '')
            .split('\0')
            .includes(`UWF_TEST_MARK=${mark}`),
      );
  onTestFinished(async () => {
    for (let left = descendants(); left.length > 0; left = descendants()) {
      for (const pid of left) orElse(() => process.kill(pid, 'SIGKILL'), true);
      await sleep(50);
    }
  });
  return { root, descendants };
}

function argvOf(pid: number): string[] {
  return orElse(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').split('\0');
}

function threadsIn({ git }: CliRepository): string[] {
  return git('for-each-ref', '--format=%(refname)', 'refs/threads', 'refs/history').split('\n').filter(Boolean);
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(50);
}

/** Kills a process, and waits until nothing is left of what it has started. */
async function expectAllToEnd({ root, descendants }: Marked): Promise<void> {
  expect(descendants().length).toBeGreaterThan(3);
  root.kill('SIGKILL');
  await expect.poll(descendants, { timeout: 60_000 }).toEqual([]);
}

const worker = ['worker', '--poll', '300ms'];
/** What runs the root, and what it runs. */
const roots: readonly [string, (repository: CliRepository) => Promise<readonly string[]>, Setting][] = [
  ['run', () => Promise.resolve(['run', 'again', '-p', 'go']), {}],
  ['run of a block', () => Promise.resolve(['run', 'again', '-p', 'go']), { workflow: branching }],
  [
    'worker over git',
    async (repository) => {
      await repository.uwf(['run', 'again', '-p', 'go', '--on', 'origin', '--background']);
      return worker;
    },
    {},
  ],
];

describe('a workflow whose agent runs it again', () => {
  test.each(roots)('ends all that it has started when the %s at the root is killed', async (_, wordsFor, setting) => {
    const repository = createAgain(setting);
    const marked = startMarked(repository, await wordsFor(repository));
    await until(() => threadsIn(repository).length >= 5);
    await expectAllToEnd(marked);
  });

  test('ends in commands of a model too, which see no process but their own', async () => {
    const server = await startModelServer([
      { calls: [{ name: 'run_command', arguments: { command: 'uwf run again -p again' } }] },
    ]);
    const runCommand = { passEnv: ['UWF_TEST_MARK'] };
    const agent = { package: 'builtin:llm', config: { baseUrl: server.url, model: 'm', runCommand } };
    const repository = createAgain({ agent });
    const marked = startMarked(repository, ['run', 'again', '-p', 'go']);
    await until(() => threadsIn(repository).length >= 4);
    await expectAllToEnd(marked);
  });

  test('ends agents that do not listen, and those of the root', async () => {
    const deaf = "trap '' TERM; setsid sleep 611 & while :; do sleep 612; done";
    const calling = 'uwf run again -p deepest --background; uwf run again -p deepest & sleep 613';
    const argv = ['sh', '-c', `case $(cat) in *deepest*) ${deaf} ;; *) ${calling} ;; esac`];
    const repository = createAgain({ agent: { package: 'builtin:command', config: { argv, statuses, graceMs: 500 } } });
    const marked = startMarked(repository, ['run', 'again', '-p', 'go']);
    await until(() => marked.descendants().filter((pid) => argvOf(pid).includes('612')).length === 2);
    await expectAllToEnd(marked);
  });

  test('stops at the depth that is allowed, by runs, branches and workers together', async () => {
    const depthsOf = async (repository: CliRepository): Promise<number[]> => {
      const ids = threadsIn(repository).map((ref) => ref.slice(-26));
      const shown = await Promise.all(ids.map((id) => repository.json(['thread', 'show', id])));
      return shown.map((view) => (view as { depth: number }).depth).toSorted((a, b) => a - b);
    };
    const limits = { maxDepth: 3 };
    const plain = createAgain({ limits });
    await plain.uwf(['run', 'again', '-p', 'go'], { env: { PATH: process.env['PATH'], UWF_TRUST: 'all' } });
    expect(await depthsOf(plain)).toEqual([0, 1, 2, 3]);

    const branches = createAgain({ limits, workflow: branching });
    await branches.uwf(['run', 'again', '-p', 'go'], { env: { PATH: process.env['PATH'], UWF_TRUST: 'all' } });
    expect(await depthsOf(branches)).toEqual([0, 1, 1, 2, 2, 3, 3, 3, 3]);

    // Nothing of the root runs any more when a worker takes what its agent has sent.
    const argv = ['sh', '-c', 'uwf run again -p again --on origin --background'];
    const sent = createAgain({ limits, agent: { package: 'builtin:command', config: { argv, statuses } } });
    await sent.uwf(['run', 'again', '-p', 'go', '--on', 'origin', '--background']);
    const { root } = startMarked(sent, [...worker, '--drain']);
    await until(() => root.exitCode !== null);
    expect(await depthsOf(sent)).toEqual([0, 1, 2, 3]);
  });
});
