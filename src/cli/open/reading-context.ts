import type { Config } from '../../engine/config/config.ts';
import { createEngineContext, type EngineContext } from '../../engine/engine-context.ts';
import type { Repository } from '../../git/repository.ts';

/** The engine's context for commands that only read: without agents and the modules that run them. */
export function readingContext(repository: Repository, config: Config = { agents: {}, roles: {} }): EngineContext {
  return createEngineContext({ repository, config }, () =>
    Promise.reject(new Error('a command that only looks runs no child thread')),
  );
}
