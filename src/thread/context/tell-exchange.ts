import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import type { Exchanged } from './exchange.ts';
import type { RefusedReply } from '../read/read-suspension.ts';

/** The last characters of a text, without half of a surrogate pair. */
export function keepEnd(text: string, length: number): string {
  return length <= 0 ? '' : text.slice(-length).replace(/^[\uDC00-\uDFFF]/, '');
}

const CAUSES: Readonly<Partial<Record<SuspendCause, string>>> = {
  agent: 'You stopped',
  human: 'A person was asked',
  permission: 'A person was asked for a permission',
  'invalid-reply': 'Your reply was not accepted',
  limit: 'You were stopped at a limit',
  timeout: 'You ran out of time',
  rule: 'The rules of the workflow came to no decision',
  child: 'A child thread of yours stopped',
};

/**
 * Writes the exchange between a role and people, in order.
 *
 * Reasons, errors and a person's words are whole. The agent's own texts are truncated at the beginning if there is no room,
 * the oldest first, with a note of what was cut.
 * @param maxCharacters the room
 * @returns the text, empty if there was no exchange, and the room that is left
 */
export function tellExchange(
  exchange: readonly Exchanged[],
  threadId: string,
  maxCharacters: number,
): [text: string, room: number] {
  let room = maxCharacters;
  const fit = (text: string): string => {
    const surplus = text.length - room;
    room = Math.max(0, -surplus);
    if (surplus <= 0) return text;
    const notice = `[the first ${surplus} characters are cut; read all with 'uwf thread read ${threadId}']`;
    return `${notice}\n\n${keepEnd(text, text.length - surplus)}`;
  };
  const told = exchange.toReversed().map((part) => describe(part, fit));
  return [told.toReversed().join('\n\n'), room];
}

function describe(part: Exchanged, fit: (text: string) => string): string {
  const place = part.after === 0 ? '' : ` (after step ${part.after})`;
  if (part.kind === 'resumed') {
    const { words } = part;
    return words === undefined
      ? `## A person let you go on${place}`
      : `## A person answered${place}\n\n${words.trim()}`;
  }
  const said = part.said.trim() === '' ? [] : [`What you said:\n\n${quote(fit(part.said.trim()))}`];
  const refused = part.refused.toReversed().map((reply) => describeRefused(reply, fit));
  const title = `## ${CAUSES[part.cause] ?? 'You were stopped'}${place}`;
  return [title, quote(part.reason.trim()), ...refused.toReversed(), ...said].join('\n\n');
}

function describeRefused(
  { text, errors }: Pick<RefusedReply, 'text' | 'errors'>,
  fit: (text: string) => string,
): string {
  const list = errors.map((error) => `- ${error.replaceAll('\n', '\n  ')}`).join('\n');
  const reply = text.trim();
  return `A reply of yours was not accepted:\n\n${list}${reply === '' ? '' : `\n\nIt was:\n\n${quote(fit(reply))}`}`;
}

/** Quotes the text of an agent, so that no line of it looks like a heading and passes for the word of a person. */
function quote(text: string): string {
  return text.replaceAll(/^/gmu, '> ').replaceAll(/^> $/gmu, '>');
}
