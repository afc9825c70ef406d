import { shorten } from '../../thread/commit-message.ts';
import type { Html } from '../html.ts';

/** More of it is in the story: the reason why a thread ended can be its whole last reply. */
const MAX_REASON = 600;

/** The beginning of the reason why a thread waits or ended. */
export function Reason({ text }: { text: string }): Html {
  return <p class="reason">{shorten(text.slice(0, MAX_REASON * 2), MAX_REASON)}</p>;
}
