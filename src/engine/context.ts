import type { NodeHash } from '../cas/hash.ts';
import type { Repository } from '../git/repository.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { Config } from './config.ts';
import type { EngineEvent } from './events.ts';

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
  /** Asks the person at the terminal; absent where there is none. */
  askPerson?: (question: string) => Promise<string>;
  /** Finds a sub-workflow's definition by its name; default: `.uwf/workflows`, then the registry. */
  resolveWorkflow?: (name: string) => Promise<WorkflowDefinition>;
};

/** What the engine's verbs share. */
export type EngineContext = {
  readonly repository: Repository;
  readonly config: Config;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly askPerson: ((question: string) => Promise<string>) | undefined;
  readonly resolveWorkflow: (name: string) => Promise<WorkflowDefinition>;
  readonly definitions: Map<NodeHash, WorkflowDefinition>;
  tell(event: EngineEvent): void;
};

/** How a verb that works on one thread is told to. */
export type LeaseOptions = {
  /** The token of a lease that another process took for this one. */
  adoptLease?: string;
};

