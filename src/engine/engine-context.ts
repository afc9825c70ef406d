import { randomBytes } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { UwfError } from '../errors.ts';
import { orElse, tryTo } from '../or-else.ts';
import type { AskPerson, ChildOutcome } from '../agent/contract.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { CallPlace } from '../thread/new-thread-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { Config } from './config/config.ts';
import type { EngineEvent } from './events.ts';
import type { RunTree } from './limits/run-tree.ts';
import { Journal } from './journal/journal.ts';
import { Redaction } from './redact/redaction.ts';
import type { AgentBinding } from '../agent/load/agent-binding.ts';

/** An agent, and where it would run. */
export type AgentUse = {
  binding: AgentBinding;
  /** The folder that it works in. */
  cwd: string;
  /** Where its packages are looked for. */
  root: string;
  /** True where `cwd` holds what an agent left: the files that its command line names are then those of `root`. */
  isLeft: boolean;
  /** True where git records the files that its turn leaves, with the filters that it is configured to. */
  isRecorded: boolean;
  /** True where `cwd` is in a work tree of a thread that has just been made or filled. Before, other files were there, or none. */
  isFilled?: boolean;
  /** True where git merges the files of branches, with the merge drivers that it is configured to. */
  isMerged?: boolean;
};

/**
 * Lets agents run: told of them before anything is loaded, run, stored or paid for them, of all that a command can come
 * to need at once where they can be known.
 * @throws what ends the command, where they may not
 */
export type Admit = (uses: readonly AgentUse[]) => Promise<void>;

/** The options of an engine. It finds nothing out by itself. */
export type EngineOptions = {
  repository: Repository;
  /** Which agent does which role on this machine, and limits; see `loadConfig`. */
  config: Config;
  /** The environment that agents inherit; default: empty. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Where agents work, absolute; default: the work tree's top, or the git folder of a bare repository. */
  cwd?: string;
  /** The folder for work trees of threads, absolute, outside of the repository; absent: threads have none. */
  workTrees?: string;
  /**
   * Whether other machines take turns of the same threads. Threads that ask for no work tree of their own get one then, and
   * what their turns change is recorded. A branch that has a work tree of its own is started, and left to a machine that has
   * room for it ({@link BranchesElsewhere}). Default: threads work in `cwd`, and branches run beside each other here.
   */
  sharesTurns?: boolean;
  /**
   * Brings here what other machines have done in threads, and in the children that those call: before a turn that the budget of
   * a caller holds, of that caller, which comes first, and of all below it that are not over. Default: nothing is done elsewhere.
   */
  catchUp?: (threads: readonly ThreadId[]) => Promise<void>;
  /** Told everything, in order. What it throws is swallowed: telling never stops a run. */
  onEvent?: (event: EngineEvent) => void;
  /** Ends the agent at work and the run; what was stored stays. */
  signal?: AbortSignal;
  /**
   * Takes secrets out of all that is written and told; `null` switches that off. Default: one that knows the values of
   * `env` and `config` that are secret and the forms of providers' tokens, with a key of its own.
   */
  redactor?: Redactor | null;
  /** The key, of 32 bytes, with which is kept what could not be redacted; default: one of this engine's own. */
  sealKey?: () => Uint8Array;
  /** Lets agents run or refuses them; absent: all of the configuration may. */
  admit?: Admit;
  /** Asks the person at the terminal for permissions, and for what `putQuestion` puts; absent where there is none. */
  askPerson?: AskPerson;
  /** Finds a sub-workflow's definition by its name; default: `.uwf/workflows`, then the registry. */
  resolveWorkflow?: (name: string) => Promise<WorkflowDefinition>;
};

/** What a role's turn asks of a child thread. */
export type ChildRequest = {
  /** Which call it is: the child's id follows from it. */
  call: CallPlace;
  /** Whether the agent chose the key. */
  isOwnKey: boolean;
  workflow: string;
  prompt: string;
  signal: AbortSignal;
  /** Of the branch of a block: under which name its definition was pinned, and what its own work tree is made from. */
  branch?: { pinnedAs: string; base: ObjectId | 'head' | undefined } | undefined;
  /** Whether the child is only started: another machine runs it. */
  isLeft?: boolean | undefined;
};

/** What came of a child thread, and the commit that it is at. */
export type ChildResult = {
  outcome: ChildOutcome;
  head: ObjectId;
  /** Whether a person has stopped the child, and it alone: it goes on when it is run again. */
  isStopped?: boolean;
  /** Whether it goes on elsewhere. */
  isElsewhere?: boolean;
};

type RunChild = (engine: EngineContext, parent: ThreadState, request: ChildRequest) => Promise<ChildResult>;

// The context of a verb has four parts, and a function takes those that it uses: one that reads a thread knows of no agent.

/** What reading threads takes. */
export type Reading = { readonly repository: Repository };

/** What deciding takes: the limits of this machine count, too. */
export type Deciding = Reading & {
  readonly config: Config;
  /** The thread whose newest step is done again, as it calls from before that step, and the id under which it calls. */
  readonly poking?: { as: ThreadId; state: ThreadState };
};

/** What changing a thread takes: secrets are taken out of what is written, and what is done is told. */
export type Telling = Reading & {
  readonly journal: Journal;
  /** What knows secrets; null where nothing is taken out. */
  readonly redactor: Redactor | null;
  readonly sealKey: () => Uint8Array;
  /** What was told already, and is told once in a run: shared work trees, limits that cannot be kept. */
  readonly told: Set<string>;
  /** Takes secrets out of what is about to be written: for each node, or each verb, anew. */
  redaction(): Redaction;
  /** Tells what this engine did, without secrets, and writes it down in the thread's journal. */
  tell(event: EngineEvent): void;
  /** Tells an event of another process, which has written it into the journal itself. */
  relay(event: EngineEvent): void;
  /** Writes a debug line into the thread's journal. */
  debug(thread: ThreadId, about: string, facts?: JsonObject): void;
};

/** What agents take: which one it is, where it works and with what, and whether it may. */
export type Machine = Reading & {
  readonly config: Config;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly workTrees: string | undefined;
  readonly sharesTurns: boolean;
  readonly signal: AbortSignal;
  readonly admit: Admit;
  readonly askPerson: AskPerson | undefined;
  readonly resolveWorkflow: (name: string) => Promise<WorkflowDefinition>;
  /** The turn that calls the threads that this engine runs; absent where no thread of this process does. */
  readonly caller?: RunTree;
};

/** What running a thread takes: all of it, and what its turns call. */
export type EngineContext = Deciding &
  Telling &
  Machine & {
    readonly catchUp: EngineOptions['catchUp'];
    /** Starts or continues the child thread of a role's turn; given here because running a child is running a thread. */
    readonly runChild: RunChild;
    /** Waits for something while other threads have the slot of the thread at work, if it has one. */
    readonly outsideSlot: <T>(wait: () => Promise<T>) => Promise<T>;
  };

export type LeaseOptions = {
  /** The token of a lease that another process took for this one. */
  adoptLease?: string | undefined;
};

/**
 * Fills in the defaults.
 * @param runChild default: no thread runs
 */
export function createEngineContext(
  options: EngineOptions,
  runChild: RunChild = () => Promise.reject(new Error('this engine runs no threads')),
): EngineContext {
  const { repository, onEvent } = options;
  const { location } = repository;
  for (const name of ['cwd', 'workTrees'] as const) assertAbsolute(name, options[name]);
  const cwd = options.cwd ?? location?.workTree ?? location?.gitDir ?? '/';
  let { signal } = options;
  let ownKey: Uint8Array | undefined;
  const journal = new Journal(repository);
  const redaction = (): Redaction => new Redaction(options.redactor ?? null);
  /** An event that cannot be redacted is not told. */
  const clean = <T extends object>(event: T): T | undefined => orElse(() => redaction().value(event), undefined);
  // A broken listener does not end the run.
  const relay = (event: EngineEvent): void => tryTo(() => onEvent?.(event));
  return {
    repository,
    config: options.config,
    env: Object.fromEntries(
      Object.entries(options.env ?? {}).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    cwd,
    workTrees: options.workTrees,
    sharesTurns: options.sharesTurns ?? false,
    catchUp: options.catchUp,
    // Made when it is needed: the first AbortController of a process takes half a millisecond.
    get signal() {
      return (signal ??= new AbortController().signal);
    },
    sealKey: options.sealKey ?? (() => (ownKey ??= randomBytes(32))),
    admit: options.admit ?? (() => Promise.resolve()),
    askPerson: options.askPerson,
    resolveWorkflow:
      options.resolveWorkflow ??
      (async (name) => {
        const { resolveWorkflow } = await import('../workflow/load/resolve-workflow.ts');
        return (await resolveWorkflow(repository, name, { cwd })).definition;
      }),
    told: new Set(),
    runChild,
    outsideSlot: (wait) => wait(),
    journal,
    redactor: options.redactor ?? null,
    redaction,
    relay,
    tell(event) {
      const told = clean(event);
      if (told === undefined) return;
      relay(told);
      journal.write(told);
    },
    debug(thread, about, facts = {}) {
      journal.write({ event: 'debug', thread, about, facts: clean(facts) ?? {} });
    },
  };
}

/** The context of what only reads threads: without agents, and without the modules that run them. */
export function readingContext(repository: Repository, config: Config = { agents: {}, roles: {} }): EngineContext {
  return createEngineContext({ repository, config });
}

/** A relative path would mean another folder in each process. */
function assertAbsolute(name: string, path: string | undefined): void {
  if (path === undefined || isAbsolute(path)) return;
  throw new UwfError(`the engine's '${name}' is no absolute path: '${path}'`, {
    code: 'relative-path',
    kind: 'usage',
    hint: "make it absolute with 'resolve' of node:path",
    facts: { path },
  });
}

/** Tells a person which rules have taken secrets out of what they, or a role, have said; never the secrets. */
export function tellTaken(
  engine: Telling,
  place: { thread: ThreadId; role: string | null },
  { taken, rules }: Redaction,
): void {
  if (taken !== undefined) engine.tell({ event: 'secrets.redacted', ...place, rules });
}
