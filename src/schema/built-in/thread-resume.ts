import type { NodeHash } from '../../cas/hash.ts';
import type { JsonObject } from '../../json.ts';
import { builtInObject, ref, refOrNull, timeMs } from './schema-parts.ts';

/** A person's word that a suspended turn may go on, or that an ended thread is taken up again. */
export type ThreadResume = {
  /** The {@link ThreadSuspend} that is answered, or the {@link ThreadEnd} that is gone on from. */
  suspension: NodeHash;
  /** What the person said, a {@link Content}; null for a mere go-ahead. */
  answer: NodeHash | null;
  /** The {@link ThreadStart}. */
  start: NodeHash;
  /** In ms since 1970. */
  resumedAtMs: number;
};

export const threadResumeSchema: JsonObject = builtInObject(
  'thread-resume',
  "A person's word that a suspended turn may go on, or that an ended thread is taken up again.",
  {
    suspension: ref('thread-suspend', 'thread-end'),
    answer: refOrNull('content'),
    start: ref('thread-start'),
    resumedAtMs: timeMs,
  },
);
