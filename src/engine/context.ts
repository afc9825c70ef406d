import { randomBytes } from 'node:crypto';
import type { AskPerson, ChildOutcome } from '../agent/contract.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { CallPlace } from '../thread/new-thread-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { Admit } from './agent-use.ts';
import type { Config } from './config.ts';
import type { EngineEvent } from './events.ts';
import { Journal } from './journal.ts';
import { Redaction } from './redaction.ts';

/** What an engine is given. It finds nothing out by itself. */
export type EngineOptions = {
  repository: Repository;
  /** Which agent does which role on this machine, and limits; see `loadConfig`. */
  config: Config;
  /** The environment that agents inherit; default: empty. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Where agents work, absolute; default: the work tree's top, or the git folder of a bare repository. */
  cwd?: string;
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
  /** Asks the person at the terminal; absent where there is none. */
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
  /** The child that an earlier version of uwf started for this call, under an id that follows from nothing. */
  unkeyed: ThreadId | undefined;
  workflow: string;
  prompt: string;
  signal: AbortSignal;
};

/** What came of a child thread, and the commit that it is at. */
export type ChildResult = { outcome: ChildOutcome; head: ObjectId };

export type RunChild = (context: EngineContext, parent: ThreadState, request: ChildRequest) => Promise<ChildResult>;

/** What the engine's verbs share. */
export type EngineContext = {
  readonly repository: Repository;
  readonly config: Config;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly sealKey: () => Uint8Array;
  readonly admit: Admit;
  readonly askPerson: AskPerson | undefined;
  readonly resolveWorkflow: (name: string) => Promise<WorkflowDefinition>;
  readonly definitions: Map<NodeHash, WorkflowDefinition>;
  /** Starts or continues the child thread of a role's turn; given here because running a child is running a thread. */
  readonly runChild: RunChild;
  readonly journal: Journal;
  /** What knows secrets; null where nothing is taken out. */
  readonly redactor: Redactor | null;
  /** Takes secrets out of what is about to be written: for each node, or each verb, anew. */
  redaction(): Redaction;
  /** Tells what this engine did, without secrets, and writes it down in the thread's journal. */
  tell(event: EngineEvent): void;
  /** Tells what somebody else did, who has written it down. */
  relay(event: EngineEvent): void;
  /** Writes down what only somebody who looks for a fault wants to know. */
  debug(thread: ThreadId, about: string, facts?: JsonObject): void;
};

/** How a verb that works on one thread is told to. */
export type LeaseOptions = {
  /** The token of a lease that another process took for this one. */
  adoptLease?: string;
};

/** Fills in what was left to its default. */
export function createContext(options: EngineOptions, runChild: RunChild): EngineContext {
  const { repository, onEvent } = options;
  const { location } = repository;
  const cwd = options.cwd ?? location?.workTree ?? location?.gitDir ?? '/';
  let { signal } = options;
  let ownKey: Uint8Array | undefined;
  const journal = new Journal(repository);
  const redaction = (): Redaction => new Redaction(options.redactor ?? null);
  /** What cannot be redacted is not told. */
  const clean = <T extends object>(event: T): T | undefined => {
    try {
      return redaction().value(event);
    } catch {
      return undefined;
    }
  };
  const relay = (event: EngineEvent): void => {
    try {
      onEvent?.(event);
    } catch {
      // Somebody's listener is broken; the run is not.
    }
  };
  return {
    repository,
    config: options.config,
    env: definedOnly(options.env ?? {}),
    cwd,
    // Node makes its first one in half a millisecond, and who only looks needs none.
    get signal() {
      return (signal ??= new AbortController().signal);
    },
    sealKey: options.sealKey ?? (() => (ownKey ??= randomBytes(32))),
    admit: options.admit ?? (() => Promise.resolve()),
    askPerson: options.askPerson,
    resolveWorkflow:
      options.resolveWorkflow ??
      (async (name) => {
        const { resolveWorkflow } = await import('../workflow/resolve-workflow.ts');
        return (await resolveWorkflow(repository, name, { cwd })).definition;
      }),
    definitions: new Map(),
    runChild,
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

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const defined: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) defined[name] = value;
  return defined;
}
