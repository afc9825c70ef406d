import type { UwfError } from '../errors.ts';
import type { Engine } from '../engine/engine.ts';
import type { EngineContext, EngineOptions } from '../engine/engine-context.ts';
import type { EngineEvent } from '../engine/events.ts';
import type { Remote } from '../git/transport/remote.ts';
import type { Repository } from '../git/repository.ts';
import type { SyncOptions } from '../sync/report.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { WorkerIdentity } from './claims.ts';
import type { JobFinder } from './find-jobs.ts';
import type { TellTrouble, TurnJob } from './turn-queue.ts';

/** What taking turns needs. */
export type TurnWorld = {
  repository: Repository;
  remote: Remote;
  finder: JobFinder;
  /** The worker, for people. */
  identity: Pick<WorkerIdentity, 'worker' | 'host'>;
  /** Decides about threads without running them. */
  context: EngineContext;
  /** Opens an engine for one turn. */
  openEngine: (
    options: Required<Pick<EngineOptions, 'signal' | 'onEvent'>> & Pick<EngineOptions, 'catchUp'>,
  ) => Promise<Engine>;
  /** How a push looks for secrets and for commits of the user's code. */
  sync: SyncOptions;
  /** Whether the worker takes further turns: not while it is stopping. */
  goesOn: () => boolean;
  onEvent: (event: EngineEvent) => void;
  /** Is told which threads were published. */
  onPublished: (threads: readonly ThreadId[]) => Promise<void>;
  onTrouble: TellTrouble;
  /** Is told of a job that this worker cannot do as it is: an agent is missing or not agreed to, or the step must not leave. */
  onUnable: (job: TurnJob, error: UwfError) => void;
};
