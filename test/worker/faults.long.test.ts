import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect, test } from 'vitest';
import { descendantsOf } from '../../src/agent/processes/process-group.ts';
import { until } from '../faults/scene.ts';
import { startGitHttpServer } from '../helpers/git-http-server.ts';
import { startRedisServer } from '../helpers/redis-server.ts';
import { runGit } from '../helpers/temporary-repository.ts';
import { expectWhole, Farm, TURNS } from './farm.ts';

/** A campaign by hand takes more of all three. */
const FAULTS = Number(process.env['SUITE_WORKER_FAULTS'] ?? 8);
const THREADS = Number(process.env['SUITE_WORKER_THREADS'] ?? 6);
const MACHINES = Number(process.env['SUITE_WORKERS'] ?? 3);

type Fault = () => Promise<void> | void;

/** What goes wrong: each returns what mends it, if it does not mend itself. */
type Faults = Readonly<Record<string, (at: number) => Fault | void>>;

function chosen<T>(all: readonly T[]): T {
  const one = all[Math.floor(Math.random() * all.length)];
  if (one === undefined) throw new Error('there is nothing to choose from');
  return one;
}

/** How often a person looks for threads that wait, in ms. */
const LOOK_MS = 10_000;

/** Lets threads go on whose turn was cut off three times: that may be chance. The remote may be away just then. */
async function resumeSuspended({ laptop, env }: Farm): Promise<void> {
  await laptop.uwf(['fetch'], { env });
  const { json } = await laptop.uwf(['thread', 'list', '--status', 'suspended', '--json'], { env });
  for (const { thread } of json) {
    await laptop.uwf(['thread', 'resume', String(thread), '--on', 'origin', '--background'], { env });
  }
}

/** Lets faults happen at random moments while workers work, and checks that nothing is lost or done twice without a cause. */
async function expectToEndure(
  farm: Farm,
  more: Faults,
  remote: Awaited<ReturnType<typeof startGitHttpServer>>,
): Promise<void> {
  const faults: Faults = {
    kill: (at) => farm.signal(at, 'SIGKILL'),
    stop: (at) => {
      farm.signal(at, 'SIGSTOP');
      return () => farm.signal(at, 'SIGCONT');
    },
    finish: (at) => void farm.machines[at]?.worker?.process.kill('SIGTERM'),
    refuse: () => farm.hook('pre-receive', 'echo not now >&2; exit 1'),
    cut: () => {
      remote.cut({ direction: 'up', afterBytes: Math.floor(Math.random() * 3_000) });
      return () => remote.cut(undefined);
    },
    // It fails where the branch is broken.
    gc: () => void spawnSync('git', ['gc', '-q'], { cwd: farm.host }),
    // The host refuses each push that creates a ref, and carries out its deletions.
    break: () => farm.breakBranch(),
    ...more,
  };
  const threads = await farm.startThreads(THREADS);
  for (const at of farm.machines.keys()) farm.startWorker(at);
  const mends: { atMs: number; mend: Fault }[] = [];
  let happened = 0;
  let killed = 0;
  let nextAtMs = 0;
  let lookAtMs = performance.now() + LOOK_MS;
  const mendDue = async (nowMs: number): Promise<void> => {
    for (const due of mends.filter(({ atMs }) => atMs <= nowMs)) {
      mends.splice(mends.indexOf(due), 1);
      await due.mend();
    }
  };
  await farm.untilDone(async () => {
    const nowMs = performance.now();
    await mendDue(nowMs);
    for (const at of farm.machines.keys()) if (!farm.isRunning(at)) farm.startWorker(at);
    if (nowMs >= lookAtMs) {
      await resumeSuspended(farm);
      lookAtMs = performance.now() + LOOK_MS;
    }
    if (happened >= FAULTS || nowMs < nextAtMs) return;
    const name = chosen(Object.keys(faults));
    const mend = faults[name]?.(chosen([...farm.machines.keys()]));
    if (mend) mends.push({ atMs: nowMs + 1_000 + Math.random() * 6_000, mend });
    happened += 1;
    if (name === 'kill' || name === 'stop' || name === 'cut') killed += 1;
    nextAtMs = nowMs + Math.random() * 2_000;
  }, 1_500_000);
  await mendDue(Infinity);
  for (const at of farm.machines.keys()) farm.signal(at, 'SIGKILL');
  for (const { worker } of farm.machines) await worker?.outcome;
  // Claims of workers that were just killed are no one's any more.
  for (const name of runGit(farm.host, ['for-each-ref', '--format=%(refname)', 'refs/uwf/claims']).split('\n')) {
    if (name !== '') runGit(farm.host, ['update-ref', '-d', name]);
  }
  await expectWhole(farm, threads);
  expect(happened).toBeGreaterThan(FAULTS / 2);
  // A worker has at most two turns at work when it is cut off.
  expect(farm.begun().length).toBeLessThanOrEqual(threads.length * TURNS + 2 * killed * MACHINES);
}

async function serve(farm: Farm): Promise<Awaited<ReturnType<typeof startGitHttpServer>>> {
  const server = await startGitHttpServer(dirname(farm.host));
  runGit(farm.host, ['config', 'http.receivepack', 'true']);
  for (const { scene } of farm.machines) scene.git('remote', 'set-url', 'origin', server.urlOf(basename(farm.host)));
  return server;
}

test.each(['start', 'end'])(
  'a thread whose active ref is still there, at its %s, is ended by any worker',
  async (what) => {
    const farm = new Farm(2, ['--poll', '300ms', '--deadline', '2s']);
    const threads = await farm.startThreads(1);
    const [active = ''] = farm.active();
    const start = runGit(farm.host, ['rev-parse', active]).trim();
    await farm.startWorker(0, '--drain').outcome;
    const end = runGit(farm.host, ['for-each-ref', '--format=%(objectname)', `refs/history/*/${threads[0]}`]).trim();
    runGit(farm.host, ['update-ref', active, what === 'end' ? end : start]);
    const { code, stderr } = await farm.startWorker(1, '--label', 'docker', '--drain').outcome;
    expect([code, stderr]).toEqual([0, '']);
    await expectWhole(farm, threads);
    expect(farm.begun()).toHaveLength(TURNS);
  },
  120_000,
);

/** Starts the one worker, and waits until the remote has refused the branches that it started. @returns what lets them in */
async function holdBranchesBack(farm: Farm): Promise<() => void> {
  const isNew = '[ "$2" = 0000000000000000000000000000000000000000 ]';
  const allow = farm.hook('update', `case $1 in refs/threads/*) ! ${isNew} || { echo not now >&2; exit 1; } ;; esac`);
  farm.startWorker(0);
  await until('the branches are held back', () => farm.claims().some((claim) => claim.includes('"held"')));
  return allow;
}

/** Waits until the one thread has ended and its worker too, and checks that it took each turn once. */
async function expectEachTurnOnce(farm: Farm, threads: readonly string[]): Promise<void> {
  await farm.untilDone(undefined, 60_000);
  farm.signal(0, 'SIGTERM');
  await farm.machines[0]?.worker?.outcome;
  await expectWhole(farm, threads);
  expect(farm.begun()).toHaveLength(TURNS);
}

test.each(['goes on', 'was killed'])(
  'branches that the remote refused are published by a worker that %s',
  async (what) => {
    const farm = new Farm(1, ['--label', 'docker', '--poll', '300ms', '--deadline', '2s']);
    const threads = await farm.startThreads(1);
    const allow = await holdBranchesBack(farm);
    if (what === 'was killed') {
      farm.signal(0, 'SIGKILL');
      await farm.machines[0]?.worker?.outcome;
    }
    allow();
    if (what === 'was killed') farm.startWorker(0);
    await expectEachTurnOnce(farm, threads);
  },
  120_000,
);

test('a fork of a branch is no branch: it is not published with the others', async () => {
  const farm = new Farm(1, ['--label', 'docker', '--poll', '300ms', '--deadline', '2s']);
  const threads = await farm.startThreads(1);
  const allow = await holdBranchesBack(farm);
  const { scene } = farm.machines[0]!;
  const names = scene.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads').trim().split('\n');
  const [branch = ''] = names.filter((name) => !threads.includes(name));
  // Where a branch was begun twice, the one that is not published is kept under an id of the same time.
  scene.git(
    'update-ref',
    `refs/threads/${branch.slice(0, -1)}${branch.endsWith('0') ? '1' : '0'}`,
    `refs/threads/${branch}`,
  );
  allow();
  await expectEachTurnOnce(farm, threads);
}, 120_000);

test('ends of branches that the remote refused are published with the step that takes them in', async () => {
  const farm = new Farm(1, ['--label', 'docker', '--poll', '300ms', '--deadline', '2s']);
  const threads = await farm.startThreads(1);
  farm.hook('pre-receive', `case "$(cat)" in *${threads[0]}*) ;; *refs/history/*) echo not now >&2; exit 1 ;; esac`);
  farm.startWorker(0);
  await expectEachTurnOnce(farm, threads);
}, 120_000);

/** Writes a claim at the remote, as another worker left it. */
function writeClaim(farm: Farm, thread: string, head: string, more: object): void {
  const git = (args: string[], input?: string): string => runGit(farm.host, args, input).trim();
  const who = { worker: 'w', host: 'h', session: '0123456789abcdef', count: 0, deadlineMs: 1_000 };
  const claim = JSON.stringify({ ...who, thread, head, ...more });
  const tree = git(['mktree'], `100644 blob ${git(['hash-object', '-w', '--stdin'], claim)}\tclaim.json\n`);
  git(['update-ref', `refs/uwf/claims/${thread}`, git(['commit-tree', tree, '-m', 'claim'])]);
}

test('the claim of a worker that died is removed from a thread that has ended, not that of a person', async () => {
  const farm = new Farm(1, ['--poll', '300ms']);
  const head = runGit(farm.host, ['rev-parse', 'HEAD']).trim();
  const [dead, stopped] = ['01K9T8SJ0YB6Z9KDZC8DRTZA1V', '01K9T8SJ0YB6Z9KDZC8DRTZA2W'];
  writeClaim(farm, dead, head, {});
  writeClaim(farm, stopped, head, { stoppedBy: 'a person' });
  farm.startWorker(0);
  await until('one is removed', () => farm.claims().length === 1);
  expect(farm.claims()[0]).toContain(stopped);
}, 60_000);

/** An agent that ends the worker that runs it, until a file is there. */
const killer = `#!/bin/sh
cat >/dev/null
echo "begin $UWF_THREAD $UWF_ROLE" >> "$TURNS"
[ "$UWF_ROLE" = plan ] && [ ! -e "$TURNS.spared" ] && kill -9 "$PPID"
printf -- '---\\n$status: done\\n---\\n%s is done.\\n' "$UWF_ROLE"
`;

test.each(process.env['SUITE_WITHOUT_REDIS'] === '1' ? ['git'] : ['git', 'Redis'])(
  'a thread whose turn ends each worker over %s waits for a person after three of them',
  async (kind) => {
    const queue = kind === 'Redis' ? ['--queue', (await startRedisServer()).url] : [];
    const farm = new Farm(2, ['--label', 'docker', '--poll', '300ms', '--deadline', '2s', ...queue]);
    farm.laptop.write('agent', killer);
    farm.laptop.git('commit', '-qam', 'a killer');
    farm.laptop.git('push', '-q', 'origin', 'HEAD:refs/heads/main');
    for (const { scene } of farm.machines) scene.git('pull', '-q', 'origin', 'main');
    const [thread = ''] = await farm.startThreads(1);
    const shown = async (): Promise<Record<string, unknown>> => {
      await farm.ok(farm.laptop, 'fetch');
      return (await farm.ok(farm.laptop, 'thread', 'show', thread, '--json'))[0] ?? {};
    };
    await until('it is suspended', async () => {
      for (const at of farm.machines.keys()) if (!farm.isRunning(at)) farm.startWorker(at);
      return (await shown())['status'] === 'suspended';
    });
    expect(farm.begun()).toEqual([`${thread} plan`, `${thread} plan`, `${thread} plan`]);
    const reason = expect.stringMatching(/^plan failed in 3 tries: .* fell silent/) as string;
    expect((await shown())['suspension']).toMatchObject({ cause: 'agent', role: 'plan', reason });
    writeFileSync(`${farm.env['TURNS']}.spared`, '');
    await farm.ok(farm.laptop, 'thread', 'resume', thread, '--on', 'origin', '--background');
    await farm.untilDone(undefined, 60_000);
    for (const { worker } of farm.machines) worker?.process.kill('SIGTERM');
    for (const { worker } of farm.machines) await worker?.outcome;
    await expectWhole(farm, [thread]);
  },
  180_000,
);

test('a thread that cannot even be suspended is stopped at the remote, until a person says so', async () => {
  const farm = new Farm(1, ['--label', 'docker', '--poll', '300ms']);
  const [thread = ''] = await farm.startThreads(1);
  const head = runGit(farm.host, ['rev-parse', farm.active()[0] ?? '']).trim();
  writeClaim(farm, thread, head, { losses: ['a', 'b', 'c', 'd', 'e'], givenBack: true });
  const { code, stderr } = await farm.startWorker(0, '--drain').outcome;
  const reason = '5 turns of it left nothing, and it could not be suspended';
  expect([code, stderr]).toEqual([
    0,
    `uwf: thread ${thread} is stopped: ${reason}; 'uwf thread run ${thread} --on origin' lets it go on\n`,
  ]);
  await farm.ok(farm.laptop, 'fetch');
  const [shown] = await farm.ok(farm.laptop, 'thread', 'show', thread, '--json');
  expect(shown?.['claim']).toMatchObject({ stoppedBy: 'm0', reason });
  await farm.ok(farm.laptop, 'thread', 'run', thread, '--on', 'origin', '--background');
  expect((await farm.startWorker(0, '--drain').outcome).code).toBe(0);
  await expectWhole(farm, [thread]);
}, 120_000);

test('a step that the remote has lost is sent again by the worker that has it', async () => {
  const farm = new Farm(2, ['--poll', '300ms', '--deadline', '2s']);
  const threads = await farm.startThreads(2);
  farm.startWorker(0, '--once');
  await farm.machines[0]!.worker!.outcome;
  farm.loseStepOf(0);
  const workers = [1, 0].map((at) => farm.startWorker(at, '--drain'));
  const ended = await Promise.all(workers.map(({ outcome }) => outcome));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  expect(ended.map(({ stderr }) => /the remote had lost the commit of (\S+); it was sent again/.test(stderr))).toEqual([
    false,
    true,
  ]);
  await expectWhole(farm, threads);
}, 120_000);

test(`workers over git alone lose nothing in ${FAULTS} faults`, async () => {
  const farm = new Farm(MACHINES, ['--poll', '500ms', '--deadline', '4s', '--at-once', '2'], 0.2);
  await expectToEndure(farm, {}, await serve(farm));
}, 1_800_000);

test.skipIf(process.env['SUITE_WITHOUT_REDIS'] === '1')(
  'a turn taken from Redis is ended soon after its thread is stopped at the remote, and not taken again',
  async () => {
    const redis = await startRedisServer();
    const farm = new Farm(1, ['--label', 'docker', '--queue', redis.url], 600);
    const [thread = ''] = await farm.startThreads(1);
    const worker = farm.startWorker(0);
    await until('the turn has begun', () => farm.begun().length === 1);
    await farm.ok(farm.laptop, 'thread', 'stop', thread, '--on', 'origin');
    await until('its agent has ended', () => descendantsOf(worker.pid).every((pid) => pid === worker.pid));
    const [other = ''] = await farm.startThreads(1);
    farm.signal(0, 'SIGUSR1');
    await until('another thread is taken', () => farm.begun().length > 1);
    expect(farm.begun()).toEqual([`${thread} plan`, `${other} plan`]);
    farm.signal(0, 'SIGKILL');
    expect((await worker.outcome).stderr).toContain(`${thread}: the thread was stopped at the remote\n`);
  },
  60_000,
);

test.skipIf(process.env['SUITE_WITHOUT_REDIS'] === '1')(
  `workers over Redis lose nothing in ${FAULTS} faults of theirs, the remote's and the queue's`,
  async () => {
    const redis = await startRedisServer();
    const options = ['--queue', redis.url, '--poll', '5s', '--deadline', '4s', '--at-once', '2'];
    const farm = new Farm(MACHINES, options, 0.2);
    await expectToEndure(
      farm,
      {
        wipe: () => void redis.wipe(),
        lose: () => {
          void redis.stop();
          return () => redis.start();
        },
      },
      await serve(farm),
    );
  },
  1_800_000,
);
