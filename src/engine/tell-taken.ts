import type { ThreadId } from '../thread/thread-id.ts';
import type { EngineContext } from './context.ts';
import type { Redaction } from './redaction.ts';

/** Tells the person what was taken out of what a role has said, or they themselves: the rules, never the values. */
export function tellTaken(
  context: EngineContext,
  { thread, role }: { thread: ThreadId; role: string | null },
  { taken, rules }: Redaction,
): void {
  if (taken !== undefined) context.tell({ event: 'secrets.redacted', thread, role, rules });
}
