import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { assert, onTestFinished, vi } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { createEngine, type Engine } from '../../src/engine/engine.ts';
import { readingContext, type EngineOptions } from '../../src/engine/engine-context.ts';
import type { EngineEvent, ThreadOver } from '../../src/engine/events.ts';
import type { ThreadView } from '../../src/engine/describe/describe.ts';
import type { StepOutcome } from '../../src/engine/turn/step.ts';
import type { ResumeOptions } from '../../src/engine/verbs/resume.ts';
import type { OpenOptions } from '../../src/git/open-repository.ts';
import type { Repository } from '../../src/git/repository.ts';
import type { JsonObject } from '../../src/json.ts';
import type { ThreadId } from '../../src/thread/thread-id.ts';
import { verifyThreads } from '../../src/verify/verify-threads.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import { installReportingAgent } from './reporting-agent.ts';
import { plotOf, type Plot, type PlotOptions } from './plot.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  type TemporaryRepository,
  type TemporaryRepositoryOptions,
} from './temporary-repository.ts';

export { print, reply, statuses } from './plot.ts';

export type ScenarioOptions = PlotOptions & {
  /** The task; null: no thread is started. Default: `Work.` */
  prompt?: string | null;
  /** Files of the work tree; one that starts with `#!` can be run. */
  files?: Readonly<Record<string, string>>;
  /** Workflows that roles and blocks run. */
  others?: readonly WorkflowDefinition[];
  engine?: Partial<EngineOptions>;
  open?: OpenOptions & TemporaryRepositoryOptions;
  /** False where the test leaves something that is not sound. Else all threads are verified when it ends. */
  isSound?: boolean;
};

/** Makes a repository in which a thread plays a plot by the engine, in this process. */
export async function scenario(options: ScenarioOptions): Promise<Scenario> {
  await prepareHashing();
  const folder = createTemporaryFolder();
  const temporary = createTemporaryRepository(options.open);
  for (const [path, text] of Object.entries(options.files ?? {})) writeInto(temporary.dir, path, text);
  const plot = plotOf(options, folder);
  if (plot.config.agents['reporter'] !== undefined) installReportingAgent(temporary.dir);
  const scene = new Scenario(temporary, await temporary.open(options.open), plot, folder, options);
  if (options.prompt !== null) await scene.start(options.prompt);
  onTestFinished(async () => {
    if (options.isSound !== false) await scene.expectSound();
    await scene.repository.close();
  });
  return scene;
}

/** A thread, its engine, and all that can happen to it. */
export class Scenario {
  readonly dir: string;
  readonly git: TemporaryRepository['git'];
  readonly events: EngineEvent[] = [];
  readonly engine: Engine;
  /** The thread at hand: the one that was started last. */
  thread = '' as ThreadId;
  readonly #options: EngineOptions;

  readonly repository: Repository;
  readonly plot: Plot;
  /** A temporary folder beside the repository, where work trees lie, and what agents note and wait for. */
  readonly folder: string;

  constructor(
    temporary: TemporaryRepository,
    repository: Repository,
    plot: Plot,
    folder: string,
    { others = [], engine = {} }: ScenarioOptions,
  ) {
    this.repository = repository;
    this.plot = plot;
    this.folder = folder;
    this.dir = temporary.dir;
    this.git = temporary.git;
    const resolveWorkflow = async (name: string): Promise<WorkflowDefinition> => {
      const found = others.find((other) => other.name === name);
      if (found === undefined) throw new Error(`no ${name}`);
      return found;
    };
    const onEvent = (event: EngineEvent): void => void this.events.push(event);
    this.#options = {
      repository,
      config: plot.config,
      env: { PATH: process.env['PATH'] },
      workTrees: join(folder, 'trees'),
      resolveWorkflow,
      onEvent,
      ...engine,
    };
    this.engine = createEngine(this.#options);
  }

  /** Another engine on the same repository, as another process has it. */
  beside(more: Partial<EngineOptions> = {}): Engine {
    return createEngine({ ...this.#options, ...more });
  }

  async start(prompt = 'Work.', more: object = {}): Promise<ThreadId> {
    const { thread } = await this.engine.start({ definition: this.plot.definition, prompt, ...more });
    return (this.thread = thread);
  }

  run(): Promise<ThreadOver> {
    return this.engine.run(this.thread);
  }

  /** Takes some steps. @returns the last one's outcome */
  async step(count = 1): Promise<StepOutcome> {
    for (let left = count; left > 1; left -= 1) await this.engine.step(this.thread);
    return this.engine.step(this.thread);
  }

  /** Goes on with an answer, or with what else `resume` takes. */
  resume(answer?: string | ResumeOptions): Promise<ThreadOver> {
    return this.engine.resume(this.thread, typeof answer === 'string' ? { answer } : answer);
  }

  view(): Promise<ThreadView> {
    return this.engine.describe(this.thread);
  }

  /** Expects that uwf's verification finds nothing wrong. git's own is for what git has to read: `expectCleanFsck`. */
  async expectSound(): Promise<void> {
    for await (const verdict of verifyThreads(readingContext(this.repository)))
      assert.deepEqual(verdict.findings, [], `of thread ${verdict.thread}`);
  }

  /** The events of a name, typed. */
  told<Name extends EngineEvent['event']>(name: Name): Extract<EngineEvent, { event: Name }>[] {
    return this.events.filter((event): event is Extract<EngineEvent, { event: Name }> => event.event === name);
  }

  /** What happened, a line each: `writer: written` of a step, `writer was refused`, `ended 0: Good.` */
  story(): string[] {
    return this.events.flatMap((event) => {
      if (event.event === 'step.finished') return [`${event.role}: ${event.outcome}`];
      if (event.event === 'reply.refused') return [`${event.role} was refused`];
      if (!('returnCode' in event)) return [];
      return [`${event.status}${event.returnCode === null ? '' : ` ${event.returnCode}`}: ${event.text.trimEnd()}`];
    });
  }

  /** The roles for which a program or an acting agent ran, in order. */
  runs(): string[] {
    const path = join(this.folder, 'runs');
    return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
  }

  /** A file of the thread's newest commit, or of an earlier one of its chain. */
  async read(path: string, back = 0): Promise<string> {
    return this.git('show', `${(await this.view()).head}~${back}:${path}`);
  }

  /** What a node in such a file holds. */
  async payload(path: string, back = 0): Promise<JsonObject> {
    return (JSON.parse(await this.read(path, back)) as { payload: JsonObject }).payload;
  }

  /** Lets go on what waits for {@link held}, or holds it again. */
  go(mayGo = true): void {
    if (mayGo) writeFileSync(join(this.folder, 'go'), '');
    else rmSync(join(this.folder, 'go'));
  }

  /** Where uwf keeps something of the thread: `leases`, `turns`, `pending`. */
  keptAt(what: 'leases' | 'pending' | 'turns'): string {
    return join(this.dir, '.git', 'uwf', what, `${this.thread}.${what === 'turns' ? 'jsonl' : 'json'}`);
  }

  /**
   * Options for another engine in whose repository a method of a part does something else, from the beginning of the turn on.
   * @param fault what it does at which call; `undefined`: its work
   */
  faulty(part: 'objects' | 'refs', method: string, fault: (call: number) => unknown): Partial<EngineOptions> {
    let calls = 0;
    let isArmed = false;
    const broken = new Proxy(this.repository[part], {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]): unknown =>
          (isArmed && name === method ? fault((calls += 1)) : undefined) ?? Reflect.apply(value, target, given);
      },
    });
    const onEvent = ({ event }: EngineEvent): void => void (isArmed ||= event === 'step.started');
    return { repository: { ...this.repository, [part]: broken }, onEvent };
  }

  /**
   * Ends a turn in the middle once its agent has told so many events: as ^C does, or as a kill does, of which the work is
   * left and the lease is not.
   */
  async cutOff(
    after: number,
    how: 'kill' | 'stop' = 'stop',
    verb = (engine: Engine): Promise<unknown> => engine.run(this.thread),
  ): Promise<void> {
    const stop = new AbortController();
    let told = 0;
    const onEvent = ({ event }: EngineEvent): void => void (told += event.startsWith('agent.') ? 1 : 0);
    const running = verb(this.beside({ onEvent, signal: stop.signal }));
    const ended = running.catch((error: unknown) => error);
    await vi.waitUntil(() => told >= after, { timeout: 30_000 });
    if (how === 'kill') return rmSync(this.keptAt('leases'));
    stop.abort(new Error('^C'));
    assert.propertyVal(await ended, 'code', 'interrupted');
  }
}

/** A loop in which a checker sends the first text of a writer back. */
export const loop: PlotOptions = {
  flow: ['writer > checker [rejected] > writer: Again: {{ _body }}', 'checker > end'],
  agents: { writer: ['written: One.', 'written: Two.'], checker: ['rejected: Too short.', 'accepted: Good.'] },
};

function writeInto(dir: string, path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
  if (text.startsWith('#!')) chmodSync(join(dir, path), 0o755);
}
