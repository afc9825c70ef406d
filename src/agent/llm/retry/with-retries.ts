import { setTimeout as sleep } from 'node:timers/promises';

import type { RetryConfig } from '../llm-config.ts';
import { ModelUnavailable } from './model-failure.ts';

const DEFAULTS = { maxRetries: 4, baseDelayMs: 1000, maxDelayMs: 30_000, maxRetryAfterMs: 600_000 };

/**
 * Does something until it works or trying again makes no sense.
 *
 * Tries again after a {@link ModelUnavailable}: as long later as the server asks, else after a pause that doubles each
 * time and is cut by chance by up to a quarter, so that many do not come back at once.
 * @param onPause told before each pause
 * @throws {ModelUnavailable} the last one, when no try is left; everything else at once; the signal's reason when aborted
 */
export async function withRetries<Result>(
  attempt: () => Promise<Result>,
  config: RetryConfig,
  signal: AbortSignal,
  onPause: (failure: ModelUnavailable, delayMs: number) => void,
): Promise<Result> {
  const { maxRetries, baseDelayMs, maxDelayMs, maxRetryAfterMs } = { ...DEFAULTS, ...config };
  for (let retry = 0; ; retry += 1) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      const asked = error instanceof ModelUnavailable ? error.facts.retryAfterMs : undefined;
      if (!(error instanceof ModelUnavailable) || error.facts.isFinal || retry >= maxRetries) throw error;
      if (asked !== undefined && asked > maxRetryAfterMs) throw error;
      const backoffMs = Math.min(baseDelayMs * 2 ** retry, maxDelayMs) * (1 - Math.random() / 4);
      const delayMs = asked ?? backoffMs;
      onPause(error, delayMs);
      await sleep(delayMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }
}
