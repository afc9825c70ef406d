import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { descendantsOf } from '../../src/agent/processes/process-group.ts';
import { orElse } from '../../src/or-else.ts';
import { createScene, startUwf, type RunningUwf, type Scene } from '../faults/scene.ts';
import { createTemporaryFolder, expectCleanFsck, runGit } from '../helpers/temporary-repository.ts';

/** Writes down when it begins and when it ends, and leaves a file. One role commits it, as coding agents do. */
const agent = `#!/bin/sh
cat >/dev/null
echo "begin $UWF_THREAD $UWF_ROLE" >> "$TURNS"
sleep "$TURN_SECONDS"
echo "$UWF_THREAD" > "$UWF_ROLE.txt"
if [ "$UWF_ROLE" = code ]; then git add --all && git commit --quiet -m code >&2; fi
echo "end $UWF_THREAD $UWF_ROLE" >> "$TURNS"
printf -- '---\\n$status: done\\n---\\n%s is done.\\n' "$UWF_ROLE"
`;

/** Four steps, one of them a block of two branches of one step: five turns of agents. */
const work = `name: work
isolation: worktree
roles:
  plan: { schema: {} }
  code: { schema: {} }
  close: { schema: {} }
  test: { schema: {}, needs: [docker] }
blocks:
  parts:
    isolation: worktree
    merge: { order: key }
    branches: { a: { role: code, prompt: A }, b: { role: test, prompt: B } }
    join: all
moderator:
  - { from: __start__, to: plan, when: null }
  - { from: plan, to: parts, when: null }
  - { from: parts, to: code, when: null }
  - { from: code, to: close, when: null }
  - { from: close, to: __end__, when: null }
`;

/** The steps of a thread, by role, and how many turns of agents it takes with its branches. */
const STEPS: readonly string[] = ['plan', 'parts', 'code', 'close'];
export const TURNS = 5;

function writesRefs(pid: number): boolean {
  return orElse(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0update-ref\0'), false);
}

/** A machine with a clone, on which a worker runs. */
type Machine = { scene: Scene; worker: RunningUwf | undefined };

/** A remote, a clone that starts threads, and machines that work them. */
export class Farm {
  readonly host: string = createTemporaryFolder();
  readonly laptop: Scene;
  readonly machines: Machine[] = [];
  readonly #turns: string;
  /** The variables of the workers. */
  readonly env: Readonly<Record<string, string>>;
  readonly #options: readonly string[];

  /** @param options of the workers, beside the remote */
  constructor(count: number, options: readonly string[], turnSeconds = 0.05) {
    const folder = createTemporaryFolder();
    this.#turns = join(folder, 'turns');
    this.#options = options;
    const trusted = { UWF_TRUST: 'all', XDG_STATE_HOME: join(folder, 'state') };
    this.env = { ...trusted, TURNS: this.#turns, TURN_SECONDS: String(turnSeconds) };
    runGit(this.host, ['init', '-q', '--bare', '.']);
    this.laptop = createScene({
      '.uwf/workflows/work.yaml': work,
      '.uwf/config.yaml': JSON.stringify({
        agents: { robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: 300 } } },
        defaultAgent: 'robot',
      }),
      agent,
    });
    this.laptop.git('add', '--all');
    this.laptop.git('commit', '-qm', 'code');
    this.laptop.git('remote', 'add', 'origin', this.host);
    this.laptop.git('push', '-q', 'origin', 'HEAD:refs/heads/main');
    runGit(this.host, ['symbolic-ref', 'HEAD', 'refs/heads/main']);
    for (let at = 0; at < count; at += 1) {
      const scene = createScene({});
      scene.git('remote', 'add', 'origin', this.host);
      scene.git('fetch', '-q', 'origin');
      scene.git('reset', '-q', '--hard', 'origin/main');
      this.machines.push({ scene, worker: undefined });
    }
  }

  /** Starts threads and pushes them. @returns their ids */
  async startThreads(count: number): Promise<string[]> {
    const threads: string[] = [];
    for (let at = 0; at < count; at += 1) {
      const [started] = await this.ok(this.laptop, 'thread', 'start', 'work', '-p', `Task ${at}.`, '--json');
      threads.push(String(started?.['thread']));
    }
    await this.ok(this.laptop, 'push', '--all');
    return threads;
  }

  async ok(scene: Scene, ...args: string[]): Promise<Record<string, unknown>[]> {
    const { code, stderr, json } = await scene.uwf(args, { env: this.env });
    if (code !== 0) throw new Error(`uwf ${args.join(' ')}: ${stderr}`);
    return json;
  }

  /** Starts the worker of a machine, in the place of one that has ended. */
  startWorker(at: number, ...more: string[]): RunningUwf {
    const machine = this.#machine(at);
    const labels = at % 2 === 0 ? ['--label', 'docker'] : [];
    const args = ['worker', '--name', `m${at}`, ...labels, ...this.#options, ...more];
    machine.worker = startUwf(args, { cwd: machine.scene.dir, env: this.env });
    return machine.worker;
  }

  /**
   * Sends a signal to the worker of a machine and to all that it has started, but for the git that writes refs: killed with a lock it
   * leaves that, which a person has to remove. It ends with the worker.
   */
  signal(at: number, signal: NodeJS.Signals): void {
    const { worker } = this.#machine(at);
    if (worker === undefined || worker.process.exitCode !== null || worker.process.signalCode !== null) return;
    const pids = [worker.pid, ...descendantsOf(worker.pid).filter((pid) => !writesRefs(pid))];
    for (const pid of pids) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has just ended.
      }
    }
  }

  isRunning(at: number): boolean {
    const { worker } = this.#machine(at);
    return worker !== undefined && worker.process.exitCode === null && worker.process.signalCode === null;
  }

  /** Gives the remote a hook. @returns what takes it away again */
  hook(name: string, script: string): () => void {
    const path = join(this.host, 'hooks', name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return () => rmSync(path, { force: true });
  }

  /** Gives the remote a branch whose commit is lost. @returns what takes it away again */
  breakBranch(): () => void {
    const id = runGit(this.host, ['commit-tree', '-m', 'lost', 'main^{tree}']).trim();
    runGit(this.host, ['update-ref', 'refs/heads/lost', id]);
    rmSync(join(this.host, 'objects', id.slice(0, 2), id.slice(2)));
    return () => void spawnSync('git', ['update-ref', '-d', 'refs/heads/lost'], { cwd: this.host });
  }

  /** The threads that are active at the remote. */
  active(): string[] {
    return runGit(this.host, ['for-each-ref', '--format=%(refname)', 'refs/threads']).split('\n').filter(Boolean);
  }

  /**
   * Has the remote lose the commit of a thread that a machine has, as `git gc --prune=now` beside a push does. No worker has
   * claimed the thread: one could publish a step after it meanwhile, and no clone finds what is missing below a step.
   */
  loseStepOf(at: number): void {
    const { dir } = this.#machine(at).scene;
    const claims = runGit(this.host, ['for-each-ref', '--format=%(refname)', 'refs/uwf/claims']);
    for (const ref of this.active().filter((name) => !claims.includes(basename(name)))) {
      const id = runGit(this.host, ['for-each-ref', '--format=%(objectname)', ref]).trim();
      const path = join(this.host, 'objects', id.slice(0, 2), id.slice(2));
      if (id === '' || !existsSync(path) || spawnSync('git', ['cat-file', '-e', id], { cwd: dir }).status !== 0)
        continue;
      rmSync(path, { force: true });
      return;
    }
  }

  /** The claims at the remote, as they are stored. */
  claims(): string[] {
    const ids = runGit(this.host, ['for-each-ref', '--format=%(objectname)', 'refs/uwf/claims']).split('\n');
    return ids.filter(Boolean).map((id) => runGit(this.host, ['show', `${id}:claim.json`]));
  }

  /** Waits until no thread is active. @param meanwhile is called again and again */
  async untilDone(meanwhile: () => void | Promise<void> = () => {}, limitMs = 600_000): Promise<void> {
    const beganMs = performance.now();
    while (this.active().length > 0) {
      if (performance.now() - beganMs > limitMs) throw new Error(await this.#whatHangs());
      await meanwhile();
      await sleep(100);
    }
  }

  /** Ends the workers. @returns what is left at the remote, and what each worker said last */
  async #whatHangs(): Promise<string> {
    const format = '--format=%(objectname) %(refname)%0a%(contents)';
    const refs = runGit(this.host, ['for-each-ref', format, 'refs/threads', 'refs/uwf']);
    const claims = this.claims();
    for (const at of this.machines.keys()) this.signal(at, 'SIGKILL');
    const said = this.machines.map(async ({ worker }) => (await worker?.outcome)?.stderr.split('\n').slice(-20));
    return ['threads are left', refs, ...claims, ...(await Promise.all(said)).flat()].join('\n');
  }

  /** The turns that agents began: `<thread> <role>`. */
  begun(): string[] {
    return (existsSync(this.#turns) ? readFileSync(this.#turns, 'utf8') : '')
      .split('\n')
      .flatMap((line) => (line.startsWith('begin ') ? [line.slice('begin '.length)] : []));
  }

  #machine(at: number): Machine {
    const machine = this.machines[at];
    if (machine === undefined) throw new Error(`there is no machine ${at}`);
    return machine;
  }
}

/** Checks what is left when all is done: threads have their steps once, no claim is left, and all is sound. */
export async function expectWhole(farm: Farm, threads: readonly string[]): Promise<void> {
  expect(runGit(farm.host, ['for-each-ref', 'refs/threads', 'refs/uwf'])).toBe('');
  await farm.ok(farm.laptop, 'sync');
  for (const thread of threads) {
    const steps = await farm.ok(farm.laptop, 'step', 'list', thread, '--json');
    expect({ thread, steps: steps.map(({ role }) => role) }).toEqual({ thread, steps: STEPS });
    await farm.ok(farm.laptop, 'thread', 'verify', thread);
  }
  expectCleanFsck(farm.host);
}
