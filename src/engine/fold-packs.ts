import { foldInBackground } from '../git/native/fold-in-background.ts';
import type { EngineContext } from './context.ts';

/**
 * Has git fold the small packs that steps leave, while an agent works and there is time.
 *
 * `foldPacks: false` in the configuration leaves that to `uwf gc` and the user.
 */
export function foldPacks({ repository, config, env }: EngineContext): void {
  const { location, stateDir } = repository;
  if (config.foldPacks === false || location === undefined || stateDir === undefined) return;
  foldInBackground(location, stateDir, env);
}
