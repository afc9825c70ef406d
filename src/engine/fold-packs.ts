import { foldInBackground } from '../git/native/fold-in-background.ts';
import type { EngineContext } from './context.ts';

/** Folding a few dozen small packs takes a tenth of a second; who has large ones waits no longer than this for it. */
const longestWaitMs = 2_000;

/**
 * Has git fold the small packs that steps leave, while an agent works and there is time.
 *
 * `foldPacks: false` in the configuration leaves that to `uwf gc` and the user.
 * @returns waits for what was started, so that the repository is at rest when a step is done
 */
export function foldPacks({ repository, config, env }: EngineContext): () => Promise<void> {
  const { location, stateDir } = repository;
  if (config.foldPacks === false || location === undefined || stateDir === undefined) return async () => {};
  const folding = foldInBackground(location, stateDir, env);
  return async () => folding?.settled(longestWaitMs);
}
